// What scrolls sideways is reached by the keyboard, and the search has a name.
addEventListener("load", () => {
  document.querySelectorAll(".md-typeset__scrollwrap, pre > code").forEach((part) => {
    part.tabIndex = 0;
  });
  document.querySelectorAll(".md-search").forEach((part) => part.setAttribute("aria-label", "Search"));
});
