// Before the first paint: the theme that was chosen here, so that the page never flashes.
try {
  const theme = localStorage.getItem("dragoman.theme");
  if (theme) document.documentElement.dataset.theme = theme;
} catch {
  // Storage is blocked: the theme is that of the system.
}
