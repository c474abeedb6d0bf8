// Figures in a web font, and a curve on a canvas that is drawn once its data and fonts are there.
"use strict";

const field = (id) => document.getElementById(id);
const signs = { sun: ["\ue000", "Sunny"], cloud: ["\ue001", "Cloudy"], rain: ["\ue002", "Rainy"] };
let weather = null;
let curve = [];

const degrees = (celsius) => (field("fahrenheit").checked ? celsius * 1.8 + 32 : celsius);
const unit = () => (field("fahrenheit").checked ? "°F" : "°C");

function clock() {
  const now = new Date();
  field("clock").textContent = String(now.getUTCHours()).padStart(2, "0") + ":" + String(now.getUTCMinutes()).padStart(2, "0");
}

function figures() {
  const [sign, name] = signs[weather.sky];
  field("sign").textContent = sign;
  field("sign").setAttribute("aria-label", name);
  field("title").textContent = "Weather at the " + weather.name.toLowerCase();
  field("place").textContent = weather.place;
  field("temperature").innerHTML = degrees(weather.temperature).toFixed(1) + "<small>" + unit() + "</small>";
  field("wind").innerHTML = weather.wind.toFixed(0) + "<small>km/h</small>";
  field("rain").innerHTML = weather.rain.toFixed(1) + "<small>mm</small>";
}

function draw() {
  const canvas = field("chart");
  const pen = canvas.getContext("2d");
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  canvas.width = canvas.clientWidth;
  const [left, right, top, bottom] = [48, canvas.width - 12, 16, 220];
  const least = Math.floor(Math.min(...weather.hours) / 5) * 5 - 5;
  const most = Math.ceil(Math.max(...weather.hours) / 5) * 5 + 5;
  const x = (i) => left + ((right - left) * i) / (curve.length - 1);
  const y = (value) => bottom - ((bottom - top) * (value - least)) / (most - least);
  pen.font = '18px "Samples Plain", sans-serif';
  pen.textAlign = "end";
  pen.textBaseline = "middle";
  for (let value = least; value <= most; value += 5) {
    pen.strokeStyle = colour("--line");
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(left, Math.round(y(value)) + 0.5);
    pen.lineTo(right, Math.round(y(value)) + 0.5);
    pen.stroke();
    pen.fillStyle = colour("--soft");
    pen.fillText(degrees(value).toFixed(0) + "°", left - 8, y(value));
  }
  const way = new Path2D();
  curve.forEach((value, i) => (i === 0 ? way.moveTo(x(i), y(value)) : way.lineTo(x(i), y(value))));
  const area = new Path2D(way);
  area.lineTo(right, bottom);
  area.lineTo(left, bottom);
  pen.fillStyle = colour("--fill");
  pen.fill(area);
  pen.strokeStyle = colour("--curve");
  pen.lineWidth = 3;
  pen.lineJoin = "round";
  pen.stroke(way);
  pen.fillStyle = colour("--soft");
  pen.textAlign = "center";
  for (let hour = 0; hour < 24; hour += canvas.width < 500 ? 6 : 3) pen.fillText(String(hour).padStart(2, "0"), left + ((right - left) * hour) / 23, 244);
  canvas.setAttribute("aria-label", "Chart of the temperature, from " + degrees(Math.min(...weather.hours)).toFixed(1) + " to " + degrees(Math.max(...weather.hours)).toFixed(1) + " " + unit());
}

function hours() {
  field("hours").replaceChildren(
    ...weather.hours.filter((_, i) => i % 3 === 0).map((value, i) => {
      const button = document.createElement("button");
      button.textContent = String(i * 3).padStart(2, "0") + ":00";
      const show = () => (field("reading").textContent = "At " + button.textContent + " it was " + degrees(value).toFixed(1) + " " + unit() + ".");
      button.addEventListener("mouseenter", show);
      button.addEventListener("focus", show);
      return button;
    }),
  );
}

async function load() {
  const answer = await fetch("/gauge/api/stations/" + field("station").value);
  weather = await answer.json();
  // Between two hours the curve wanders as a real one does.
  curve = weather.hours.flatMap((value, i) => {
    const next = weather.hours[i + 1];
    return next === undefined ? [value] : [0, 0.25, 0.5, 0.75].map((part) => value + (next - value) * part + (part ? Math.random() - 0.5 : 0));
  });
  await Promise.allSettled([document.fonts.load('38px "Samples Segments"'), document.fonts.load('18px "Samples Plain"')]);
  figures();
  hours();
  draw();
}

field("station").addEventListener("change", load);
field("fahrenheit").addEventListener("change", () => {
  figures();
  hours();
  draw();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
new ResizeObserver(() => weather && draw()).observe(field("chart"));
setInterval(clock, 1000);
clock();
load();
