// The booking form: a total that follows the choices, mistakes beside their fields, one request.
"use strict";

const prices = { flat: 1800, brakes: 4500, gears: 5250, service: 9500 };
const today = 1500;
const field = (id) => document.getElementById(id);
const money = (pence) => "£" + (pence / 100).toFixed(2);

function update() {
  const kind = field("kind");
  const each = prices[kind.value] ?? 0;
  const bicycles = Number(field("bicycles").value) || 0;
  const soon = field("soon-today").checked ? today : 0;
  field("summary-kind").textContent = each ? kind.selectedOptions[0].textContent : "No repair chosen";
  field("summary-each").textContent = each ? money(each) : "–";
  field("summary-count").textContent = String(bicycles);
  field("summary-soon").textContent = soon ? money(soon) : "–";
  field("summary-total").textContent = money(each * bicycles + soon);
}

const rules = [
  ["name", (v) => v.trim() !== "", "Enter your name"],
  ["phone", (v) => /^[0-9 +]{7,}$/.test(v), "Enter a phone number, such as 0113 496 0000"],
  ["email", (v) => /^\S+@\S+\.\S+$/.test(v), "Enter an email address, such as you@example.com"],
  ["day", (v) => v >= "2026-03-02", "Choose a day from 2 March 2026"],
  ["kind", (v) => v !== "", "Choose a kind of repair"],
  ["bicycles", (v) => Number(v) >= 1 && Number(v) <= 9, "Enter a number from 1 to 9"],
];

function show(id, message) {
  const input = field(id);
  const place = input.closest(".field");
  place.querySelector(".mistake")?.remove();
  input.toggleAttribute("aria-invalid", false);
  if (!message) return;
  const text = document.createElement("p");
  text.className = "mistake";
  text.id = id + "-mistake";
  text.textContent = message;
  place.append(text);
  input.setAttribute("aria-invalid", "true");
  input.setAttribute("aria-errormessage", text.id);
}

function mistakes() {
  const found = rules.filter(([id, holds]) => !holds(field(id).value)).map(([id, , message]) => [id, message]);
  if (!field("terms").checked) found.push(["terms", "Confirm that you have removed them"]);
  return found;
}

async function submit(event) {
  event.preventDefault();
  const found = mistakes();
  for (const [id] of [...rules, ["terms"]]) show(id, found.find(([other]) => other === id)?.[1]);
  const problems = field("problems");
  problems.hidden = found.length === 0;
  problems.textContent = found.length === 1 ? "One thing is missing." : found.length + " things are missing.";
  if (found.length > 0) {
    field(found[0][0]).focus();
    return;
  }
  field("send").disabled = true;
  field("sending").textContent = "Sending…";
  const booking = Object.fromEntries(rules.map(([id]) => [id, field(id).value]));
  booking.soon = field("soon-today").checked ? "today" : "normal";
  booking.photo = field("photo").files[0]?.name ?? "";
  const answer = await fetch("api/bookings", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(booking) });
  if (!answer.ok) {
    field("sending").textContent = "It could not be booked. Please call us.";
    field("send").disabled = false;
    return;
  }
  const { number } = await answer.json();
  location.assign("/repairs/booked/" + number);
}

for (const button of document.querySelectorAll("[data-step]")) {
  button.addEventListener("click", () => {
    const bicycles = field("bicycles");
    bicycles.value = Math.min(9, Math.max(1, Number(bicycles.value) + Number(button.dataset.step)));
    update();
  });
}
field("booking").addEventListener("input", update);
field("booking").addEventListener("submit", submit);
field("photo").addEventListener("change", () => {
  const file = field("photo").files[0];
  field("photo-name").textContent = file ? file.name + " is added." : "PNG, 2 MB at most.";
});
update();
