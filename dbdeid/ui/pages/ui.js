// Forms without a reload, keys, the filter, and looking whether anything changed. Without this
// script every form still works. Nothing is made from text: pages come escaped from the server.
"use strict";
const page = () => document.getElementById("page");
let ended = null, busy = false;

function take(text) {
  const parsed = new DOMParser().parseFromString(text, "text/html");
  const fresh = parsed.getElementById("page");
  if (!fresh) { location.reload(); return; }
  const kept = document.activeElement && document.activeElement.id;
  const filter = document.getElementById("filter");
  const wanted = filter ? filter.value : "";
  const ticked = [...document.querySelectorAll("input[name=column]:checked")].map(box => box.value);
  const at = document.getElementById("point");
  const slid = Object.fromEntries([...sliders()].map(one => [one.id, one.value]));
  const folded = [...document.querySelectorAll("details[open][id]")].map(one => one.id);
  page().replaceWith(document.adoptNode(fresh));
  folded.forEach(id => { const one = document.getElementById(id); if (one) one.open = true; });
  const again = document.getElementById("filter");
  if (again) { again.value = wanted; narrow(); }
  document.querySelectorAll("input[name=column][type=checkbox]").forEach(box => { box.checked = ticked.includes(box.value); });
  const moved = document.getElementById("point");
  if (at && moved && at.max === moved.max) { moved.value = at.value; point(moved); }
  sliders().forEach(one => { if (slid[one.id] !== undefined) one.value = slid[one.id]; slide(one); });
  rove();
  const there = kept && document.getElementById(kept);
  if (there) there.focus({preventScroll: !kept.startsWith("r")});
}

async function send(form, button) {
  const body = new URLSearchParams(new FormData(form, button));
  const action = (button && button.getAttribute("formaction")) || form.getAttribute("action");
  busy = true;
  try {
    const answer = await fetch(action, {method: "POST", body, headers: {"dbdeid-part": "page"}});
    if (answer.headers.get("content-type").startsWith("text/html")) take(await answer.text());
    else location.reload();
  } catch { lost(); } finally { busy = false; }
}

async function fresh() {
  const answer = await fetch(location.pathname);
  if (answer.ok) take(await answer.text());
}

function lost() {
  const line = document.getElementById("progress");
  if (!line) return;
  line.hidden = false;
  line.querySelector(".line").textContent = "The server is closed. Start dbdeid ui again in the terminal.";
}

async function look() {
  const room = page().dataset.room;
  let pause = 2500;
  if (room !== undefined && !busy && !document.hidden) {
    try {
      const now = await (await fetch(`/${room}/state`)).json();
      const line = document.getElementById("progress");
      if (line) {
        line.hidden = !now.running;
        if (line.querySelector(".line").textContent !== now.line) line.querySelector(".line").textContent = now.line;
      }
      const typing = document.activeElement && document.activeElement.matches("input[type=text], textarea");
      const changed = now.version !== (page().dataset.version || "") || (ended !== null && now.ended !== ended);
      if (changed && !busy && !typing) { ended = now.ended; await fresh(); } else if (!changed) ended = now.ended;
      if (now.running) pause = 400;
    } catch { lost(); pause = 5000; }
  }
  setTimeout(look, pause);
}

function narrow() {
  const words = document.getElementById("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  document.querySelectorAll("#columns tbody tr").forEach(row => {
    row.hidden = !words.every(word => row.dataset.find.includes(word));
  });
}

// One stop of the tab key a column: the arrows move on from there.
function rove() {
  document.querySelectorAll(".choose").forEach(form => {
    const buttons = [...form.querySelectorAll("button")];
    const first = buttons.find(one => one.getAttribute("aria-pressed") === "true") || buttons[0];
    buttons.forEach(one => { one.tabIndex = one === first ? 0 : -1; });
  });
}

function step(button, key) {
  const buttons = [...button.closest(".choose").querySelectorAll("button")];
  const at = buttons.indexOf(button);
  let next = null;
  if (key === "ArrowRight") next = buttons[at + 1];
  if (key === "ArrowLeft") next = buttons[at - 1];
  if (key === "ArrowDown" || key === "ArrowUp") {
    const rows = [...document.querySelectorAll("#columns tbody tr")].filter(row => !row.hidden);
    const row = rows[rows.indexOf(button.closest("tr")) + (key === "ArrowDown" ? 1 : -1)];
    next = row && row.querySelectorAll(".choose button")[at];
  }
  if (next) { next.tabIndex = 0; next.focus(); }
}

// The slider of a quasi-identifier shows one of its levels; all are on the page already.
function slide(input) {
  const section = input.closest(".ladder"), at = input.value;
  section.querySelector("output").textContent = at;
  section.querySelectorAll(".level").forEach(one => { one.hidden = one.dataset.level !== at; });
  section.querySelectorAll("tr[data-level]").forEach(row => row.classList.toggle("at", row.dataset.level === at));
  section.querySelector("input.follows").value = at;
}
const sliders = () => document.querySelectorAll(".ladder input[type=range]");

// The slider of the frontier shows one of its policies, and where it lies.
function point(input) {
  const points = input.closest(".points");
  points.querySelectorAll(".point").forEach(one => { one.hidden = one.dataset.point !== input.value; });
  const now = points.querySelector(".point:not([hidden])"), mark = points.querySelector(".now");
  mark.setAttribute("cx", now.dataset.x);
  mark.setAttribute("cy", now.dataset.y);
  points.querySelector("output").textContent = now.dataset.number;
}

// A label that is dropped on another is ticked together with it; the name is yours to give.
let dragged = null;
function joined(onto) {
  const form = onto.closest("form"), boxes = [dragged, onto].map(one => one.querySelector("input[name=label]"));
  boxes.forEach(box => { box.checked = true; });
  const into = form.querySelector("input[name=into]");
  if (!into.value) into.value = boxes.map(box => box.value).join(" or ").slice(0, into.maxLength);
  into.focus();
  into.select();
}
const grip = target => target.closest ? target.closest("li[draggable]") : null;
document.addEventListener("dragstart", event => {
  dragged = grip(event.target);
  if (!dragged) return;
  event.dataTransfer.effectAllowed = "move";
  event.dataTransfer.setData("text/plain", " ");  // without anything, some browsers drag nothing
});
document.addEventListener("dragover", event => {
  const onto = grip(event.target);
  if (dragged && onto && onto !== dragged && onto.closest("form") === dragged.closest("form")) event.preventDefault();
});
document.addEventListener("drop", event => {
  const onto = grip(event.target);
  if (!dragged || !onto || onto.closest("form") !== dragged.closest("form")) return;
  event.preventDefault();
  joined(onto);
  dragged = null;
});

const LETTERS = {i: "identifier", d: "drop", q: "quasi_identifier", s: "sensitive", n: "insensitive"};

document.addEventListener("submit", event => {
  const form = event.target;
  if (form.method !== "post") return;
  event.preventDefault();
  if (!busy) send(form, event.submitter);
});
document.addEventListener("input", event => {
  if (event.target.id === "filter") narrow();
  if (event.target.matches(".ladder input[type=range]")) slide(event.target);
  if (event.target.id === "point") point(event.target);
});
document.addEventListener("change", event => {
  if (event.target.id === "all") {
    document.querySelectorAll("#columns tbody tr").forEach(row => {
      if (!row.hidden) row.querySelector("input[name=column]").checked = event.target.checked;
    });
  }
});
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const at = event.target, button = at.closest(".choose button");
  if (button && event.key.startsWith("Arrow")) { event.preventDefault(); step(button, event.key); return; }
  if (at.matches("input[type=text], input[type=search], input[type=number], select, textarea")) return;
  const row = at.closest("#columns tr");
  if (row && LETTERS[event.key]) {
    event.preventDefault();
    const wanted = row.querySelector(`.choose button[value=${LETTERS[event.key]}]`);
    if (wanted) { wanted.focus(); wanted.click(); }
  } else if (row && event.key === "x") {
    const box = row.querySelector("input[name=column]");
    if (box) box.checked = !box.checked;
  } else if (event.key === "/" && document.getElementById("filter")) {
    event.preventDefault();
    document.getElementById("filter").focus();
  } else if (event.key === "u" && document.getElementById("undo")) {
    document.getElementById("undo").click();
  }
});
rove();
sliders().forEach(slide);
look();
