// Circles on a sheet. The export makes a list that is longer than the engine can hold, and that ends the
// renderer at once, with little memory: a text of 128 Mi characters can't be split into as many texts.
"use strict";

const sheet = document.getElementById("sheet");
let circles = 0;

document.getElementById("circle").addEventListener("click", () => {
  const circle = document.createElementNS(sheet.namespaceURI, "circle");
  circle.setAttribute("cx", String(60 + ((circles * 90) % 520)));
  circle.setAttribute("cy", String(60 + ((circles * 50) % 140)));
  circle.setAttribute("r", "34");
  circle.setAttribute("fill", `hsl(${(circles * 67) % 360} 60% 55%)`);
  sheet.append(circle);
  circles += 1;
  document.getElementById("count").textContent = circles === 1 ? "1 circle" : circles + " circles";
});
document.getElementById("export").addEventListener("click", () => {
  const points = ".".repeat(2 ** 27 + 64).split("");
  document.getElementById("count").textContent = points.length + " points are exported";
});
