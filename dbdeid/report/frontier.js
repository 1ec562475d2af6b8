// The script of the page of a frontier: draws it, and says what a point means.
(async () => {
  "use strict";
  const told = JSON.parse(document.getElementById("told").textContent);
  const $ = (id) => document.getElementById(id);
  const number = (value) => String(Number(value.toPrecision(4)));
  const count = (value) => value.toLocaleString("en");

  // Each policy is told by what differs from the one before it.
  const policies = [];
  let now = told.columns.map(() => ({ brief: "", intervals: 0, pieces: [] }));
  for (const step of told.steps) {
    now = now.map((old, column) => {
      if (!step[column]) return old;
      const [brief, intervals, ...places] = step[column];
      const pieces = [];
      let from = 0;
      for (let i = 0; i < places.length; ) {
        const [at, gone, come] = places.slice(i, i + 3);
        pieces.push(...old.pieces.slice(from, at));
        pieces.push(...places.slice(i + 3, i + 3 + come).map((place) => told.texts[place]));
        from = at + gone;
        i += 3 + come;
      }
      pieces.push(...old.pieces.slice(from));
      return { brief: told.texts[brief], intervals, pieces };
    });
    policies.push(now);
  }

  const element = (tag, text, ...children) => {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    made.append(...children);
    return made;
  };
  const figures = ([, risk, loss, kl, classes]) => [
    `risk ${number(risk)}`,
    `loss ${number(loss)}`,
    `KL ${number(kl)} nats`,
    `${count(classes)} ${classes === 1 ? "class" : "classes"}`,
  ];

  let selected = told.start;
  let view = null;
  const plot = $("plot");
  const tip = $("tip");

  const ring = (signal, at) => {
    if (view) view.signal(signal, at === null ? 0 : told.points[at][0]).runAsync();
  };

  const select = (at) => {
    selected = Math.min(Math.max(at, 0), told.points.length - 1);
    const point = told.points[selected];
    $("which").value = selected + 1;
    $("which").setAttribute("aria-valuetext", `point ${point[0]}, ${figures(point).join(", ")}`);
    $("before").disabled = selected === 0;
    $("after").disabled = selected === told.points.length - 1;
    $("number").textContent = `Point ${point[0]}`;
    figures(point).forEach((text, i) => {
      $("figures").children[i].textContent = text;
    });
    $("choose").textContent = `choose: {point: ${point[0]}}`;
    $("policy").replaceChildren(
      ...policies[selected].flatMap(({ intervals, pieces }, column) => [
        element("dt", told.columns[column], element("small", ` ${count(intervals)} ${intervals === 1 ? "interval" : "intervals"}`)),
        Object.assign(element("dd", "", element("div", "", ...pieces.map((piece) => element("span", piece)))), { tabIndex: 0 }),
      ]),
    );
    $("policy").querySelectorAll("dd > div").forEach((list) => list.classList.add("labels"));
    for (const [id, from] of [["previous", selected - 1], ["next", selected]]) {
      const known = told.changes[from];
      $(id).hidden = !known;
      if (!known) continue;
      const [one, other] = [told.points[from][0], told.points[from + 1][0]];
      $(id).firstElementChild.textContent =
        id === "next" ? `What changes to point ${other}` : `What changed from point ${one}`;
      $(id).lastElementChild.replaceChildren(...known.map((text) => element("li", text)));
    }
    ring("selected", selected);
  };

  const near = (event) => {
    const box = plot.querySelector("svg").getBoundingClientRect();
    const [origin, padding] = [view.origin(), view.padding()];
    const x = event.clientX - box.left - origin[0] - padding.left;
    const y = event.clientY - box.top - origin[1] - padding.top;
    const [across, down] = [view.scale("x"), view.scale("y")];
    const { least } = told.drawings[scale()];
    let [best, distance] = [null, 28 * 28];
    told.points.forEach(([, risk, loss], i) => {
      const away = (across(Math.max(risk, least)) - x) ** 2 + (down(loss) - y) ** 2;
      if (away < distance) [best, distance] = [i, away];
    });
    return best;
  };

  const rest = (event) => {
    const at = near(event);
    ring("rested", at);
    tip.hidden = at === null;
    if (at === null) return;
    const point = told.points[at];
    tip.replaceChildren(
      element("strong", `Point ${point[0]}`),
      element("span", figures(point).join(", ")),
      ...policies[at].map(({ brief }, column) => element("span", `${told.columns[column]}: ${brief}`)),
    );
    const box = plot.getBoundingClientRect();
    const place = (at, size, room) => (at + 16 + size <= room ? at + 16 : Math.max(0, at - 16 - size));
    tip.style.left = `${place(event.clientX - box.left, tip.offsetWidth, box.width)}px`;
    tip.style.top = `${place(event.clientY - box.top, tip.offsetHeight, box.height)}px`;
  };
  const leave = () => {
    tip.hidden = true;
    ring("rested", null);
  };

  const scale = () => (document.querySelector("input[name=scale]:checked") || {}).value || "log";
  const draw = async () => {
    const { least, drawing } = told.drawings[scale()];
    const data = told.points.map(([point, risk, loss]) => ({ point, x: Math.max(risk, least), y: loss }));
    const drawn = await vegaEmbed($("canvas"), { ...drawing, datasets: { ...drawing.datasets, points: data } }, {
      mode: "vega-lite", renderer: "svg", ast: true, actions: false, defaultStyle: false, tooltip: false,
    });
    if (view) view.finalize();
    view = drawn.view;
    ring("selected", selected);
    plot.dataset.drawn = scale();
  };

  $("still").remove();
  document.querySelectorAll("[data-script]").forEach((part) => { part.hidden = false; });
  plot.addEventListener("pointermove", rest);
  plot.addEventListener("pointerleave", leave);
  plot.addEventListener("click", (event) => {
    const at = near(event);
    if (at !== null) select(at);
  });
  document.querySelectorAll("input[name=scale]").forEach((box) => box.addEventListener("change", draw));
  $("which").addEventListener("input", () => select(Number($("which").value) - 1));
  $("before").addEventListener("click", () => select(selected - 1));
  $("after").addEventListener("click", () => select(selected + 1));
  document.querySelectorAll("[data-point]").forEach((link) =>
    link.addEventListener("click", () =>
      select(told.points.findIndex(([point]) => point === Number(link.dataset.point)))));
  await draw();
  select(selected);
})();
