// Links of the sample page to the course, and the step that an address names: `#en/walk//1///cross-weights`.
(() => {
  "use strict";
  const LINKS = {{links}};
  const WORDS = { en: "In the course: ", ko: "강의에서: " };
  const main = document.getElementById("main");

  function line(rows, language) {
    const box = document.createElement("p");
    box.className = "hint course";
    box.append(WORDS[language]);
    rows.forEach((row, i) => {
      const link = document.createElement("a");
      link.href = row.href;
      link.textContent = row.title;
      box.append(i ? " · " : "", link);
    });
    return box;
  }

  // Under the heading of a view the pages that it belongs to; under the text of a step its own.
  function write() {
    const language = document.documentElement.lang === "ko" ? "ko" : "en";
    for (const id of new Set(LINKS[language].map((row) => (row.step ? `step-${row.step}` : `view-${row.view}`)))) {
      const place = document.getElementById(id);
      const last = place && place.querySelector(":scope > h2, :scope > .step-text > :last-child");
      if (!last || place.querySelector(":scope > .course, :scope > .step-text > .course")) continue;
      last.after(
        line(
          LINKS[language].filter((row) => id === (row.step ? `step-${row.step}` : `view-${row.view}`)),
          language,
        ),
      );
    }
  }

  function open() {
    const step = location.hash.slice(1).split("/")[6];
    if (step && document.getElementById(`step-${step}`)) window.dragoman.leadTo(`step-${step}`);
  }

  new MutationObserver(write).observe(main, { childList: true, subtree: true });
  write();
  open();
  window.addEventListener("hashchange", () => setTimeout(open));
})();
