// The filter of the movements, and a transfer that is confirmed in a dialog before it is sent.
"use strict";

const only = document.getElementById("only");
const dialog = document.getElementById("sure");
const transfer = document.getElementById("transfer");

only.addEventListener("change", () => {
  const rows = [...document.querySelectorAll("#movements tbody tr")];
  for (const row of rows) row.hidden = only.checked && !row.querySelector("td.out");
  document.getElementById("shown").textContent = rows.filter((row) => !row.hidden).length + " movements";
});

transfer.addEventListener("submit", (event) => {
  event.preventDefault();
  const amount = Number(transfer.elements.amount.value);
  const mistake = document.getElementById("mistake");
  mistake.textContent = amount > 0 ? "" : "Enter an amount above 0.";
  if (!(amount > 0)) return;
  document.getElementById("question").textContent = "Move €" + amount.toFixed(2) + " to " + transfer.elements.to.selectedOptions[0].textContent + "?";
  dialog.showModal();
});
document.getElementById("no").addEventListener("click", () => dialog.close());
document.getElementById("yes").addEventListener("click", async () => {
  dialog.close();
  const answer = await fetch("/ledger/transfer", { method: "POST", body: new URLSearchParams(new FormData(transfer)) });
  if (answer.ok) location.reload();
  else document.getElementById("mistake").textContent = (await answer.json()).mistake;
});
