// Formulas: each element of class `math` holds TeX.
for (const element of document.querySelectorAll(".math")) {
  katex.render(element.textContent, element, {
    displayMode: element.classList.contains("display"), throwOnError: false,
  });
}
