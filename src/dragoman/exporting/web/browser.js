// What the page has of its browser: the clipboard, dropped files, paper, a draft that outlives the tab, installation.
"use strict";

async function copyText(content) {
  try {
    await navigator.clipboard.writeText(content);
  } catch {
    const box = element("textarea", { value: content, className: "hidden" });
    document.body.append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
  }
}

// The files that are dropped anywhere go to `open`; `sign` is seen while one is above the page.
function acceptFiles(sign, open) {
  const isFile = ({ dataTransfer }) => dataTransfer?.types.includes("Files");
  addEventListener("dragover", (event) => isFile(event) && (event.preventDefault(), (sign.hidden = false)));
  addEventListener("dragleave", ({ relatedTarget }) => relatedTarget || (sign.hidden = true));
  addEventListener("drop", (event) => {
    sign.hidden = true;
    if (!isFile(event)) return;
    event.preventDefault();
    open([...event.dataTransfer.files]);
  });
}

// On paper the whole text of a box is seen.
function printWhole(box) {
  addEventListener("beforeprint", () => (box.style.height = `${box.scrollHeight + 4}px`));
  addEventListener("afterprint", () => (box.style.height = ""));
}

// A telephone ends a tab that nobody sees, and opens it again: what `draft()` returns when the tab is left is stored for
// this tab and this file alone, until the tab is closed.
const DRAFT = `dragoman.draft ${location.pathname}`;

function storeDraft(draft) {
  addEventListener("pagehide", () => writeDraft(draft()));
  document.addEventListener("visibilitychange", () => document.hidden && writeDraft(draft()));
}

function writeDraft(draft) {
  try {
    sessionStorage.setItem(DRAFT, JSON.stringify(draft));
  } catch {
    // Blocked, or larger than a browser stores: it is forgotten with the tab.
  }
}

function storedDraft() {
  try {
    return JSON.parse(sessionStorage.getItem(DRAFT));
  } catch {
    return null;
  }
}

// Where a server offers the page, the browser stores it: it opens again without a network, and can be installed. Browsers
// want to read its address in the manifest, which does not know it.
function install(worker) {
  if (!worker || !location.protocol.startsWith("http")) return;
  const link = document.querySelector('link[rel="manifest"]');
  const [type, facts] = link.href.split(/,(.*)/s);
  const here = new URL("./", location.href).href;
  const manifest = { ...JSON.parse(decodeURIComponent(facts)), start_url: here, scope: here };
  link.href = `${type},${encodeURIComponent(JSON.stringify(manifest))}`;
  navigator.serviceWorker?.register(worker).catch(() => {});
}
