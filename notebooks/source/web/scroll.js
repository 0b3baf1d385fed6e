// What scrolls can be reached by keyboard; what fits is no stop on the way.
function reach() {
  for (const box of document.querySelectorAll("pre, .table, .math.display")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

reach();
addEventListener("resize", reach);
document.addEventListener("toggle", reach, true);
