// One page with routes: the list of tickets, a ticket, people, about. What is asked for takes its time.
"use strict";

const main = document.getElementById("main");
let tickets = null;
let turn = 0;

const escape = (text) => String(text).replace(/[&<>"]/g, (c) => "&#" + c.charCodeAt(0) + ";");

async function ask(path, body) {
  const answer = await fetch("/tracker/api/" + path, body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error("the server answered " + answer.status);
  return answer.json();
}

async function allTickets() {
  tickets ??= await ask("tickets");
  return tickets;
}

function go(path) {
  history.pushState(null, "", path);
  render();
}

const loading = '<div class="loading" role="status" aria-label="Loading"><span></span><span></span><span></span></div>';

const routes = [
  [/^\/tracker\/$/, "Tickets", showTickets],
  [/^\/tracker\/tickets\/(\d+)$/, "Ticket", showTicket],
  [/^\/tracker\/people$/, "People", showPeople],
  [/^\/tracker\/about$/, "About", showAbout],
];

async function render() {
  const mine = ++turn;
  const path = location.pathname;
  for (const link of document.querySelectorAll(".top nav a")) {
    link.toggleAttribute("aria-current", false);
    if (link.getAttribute("href") === path) link.setAttribute("aria-current", "page");
  }
  const [pattern, title, show] = routes.find(([route]) => route.test(path)) ?? [/$/, "Not found", showNothing];
  document.title = title + " – Lighthouse";
  main.innerHTML = loading;
  try {
    const draw = await show(...(path.match(pattern) ?? []).slice(1));
    if (mine === turn) draw();
  } catch (error) {
    if (mine === turn) main.innerHTML = '<div class="notice bad" role="alert">This could not be loaded. <button class="quiet">Try again</button></div>';
    main.querySelector("button")?.addEventListener("click", render);
  }
}

async function showTickets() {
  const all = await allTickets();
  return () => {
    main.innerHTML = `<h1>Tickets</h1>
      <div class="tools">
        <div class="field"><label for="search">Search</label><input id="search" type="search" placeholder="Title or person"></div>
        <div class="field"><label for="order">Order</label><select id="order"><option value="new">Newest first</option><option value="old">Oldest first</option><option value="title">By title</option></select></div>
        <div class="choice"><input type="checkbox" id="open"><label for="open">Open only</label></div>
      </div>
      <div class="card"><p id="counted" role="status"></p><table class="tickets"><thead><tr><th>No.</th><th>Title</th><th>State</th><th>Person</th></tr></thead><tbody></tbody></table></div>`;
    const list = () => {
      const wanted = main.querySelector("#search").value.toLowerCase();
      const order = main.querySelector("#order").value;
      const only = main.querySelector("#open").checked;
      const shown = all
        .filter((t) => (t.title + " " + t.person).toLowerCase().includes(wanted))
        .filter((t) => !only || t.state === "open")
        .sort((a, b) => (order === "title" ? a.title.localeCompare(b.title) : order === "old" ? a.id - b.id : b.id - a.id));
      main.querySelector("#counted").textContent = `${shown.length} of ${all.length} tickets`;
      main.querySelector("tbody").innerHTML = shown.map((t) => `<tr class="${t.state}"><td>${t.id}</td><td><a href="/tracker/tickets/${t.id}">${escape(t.title)}</a></td><td><span class="tag ${t.state === "open" ? "bad" : "good"}">${t.state}</span></td><td>${escape(t.person)}</td></tr>`).join("");
    };
    main.querySelector(".tools").addEventListener("input", list);
    list();
  };
}

async function showTicket(id) {
  const ticket = await ask("tickets/" + id);
  return () => {
    document.title = ticket.title + " – Lighthouse";
    main.innerHTML = `<div class="ticket"><p><a href="/tracker/" data-back>← Back to the list</a></p>
      <h1>${escape(ticket.title)}</h1>
      <p class="row"><span class="tag ${ticket.state === "open" ? "bad" : "good"}">${ticket.state}</span><span class="soft">Number ${ticket.id}, for ${escape(ticket.person)}</span></p>
      <div class="card"><p>${escape(ticket.text)}</p><button id="toggle">${ticket.state === "open" ? "Close the ticket" : "Open it again"}</button></div>
      <h2>Comments</h2><ul class="comments">${ticket.comments.map((c) => `<li>${escape(c)}</li>`).join("") || "<li>No comments yet.</li>"}</ul>
      <form class="card field"><label for="comment">Comment</label><textarea id="comment" rows="2"></textarea><div class="row"><button>Add the comment</button></div></form></div>`;
    main.querySelector("#toggle").addEventListener("click", async () => {
      await ask("tickets/" + id, { state: ticket.state === "open" ? "closed" : "open" });
      tickets = null;
      render();
    });
    main.querySelector("form").addEventListener("submit", async (event) => {
      event.preventDefault();
      const text = main.querySelector("#comment").value.trim();
      if (text === "") return;
      await ask("tickets/" + id, { comment: text });
      render();
    });
  };
}

async function showPeople() {
  const people = await ask("people");
  return () => {
    main.innerHTML = `<h1>People</h1><ul class="faces">${people.map((p, i) => `<li class="card"><svg width="48" height="48" viewBox="0 0 48 48" role="img" aria-label="Picture of ${escape(p.name)}"><rect width="48" height="48" rx="24" fill="hsl(${i * 70 + 20} 60% 45%)"/><circle cx="24" cy="19" r="8" fill="#fff"/><path d="M8 42a16 14 0 0 1 32 0z" fill="#fff"/></svg><div><h2>${escape(p.name)}</h2><p class="soft">${p.open} open</p></div></li>`).join("")}</ul>`;
  };
}

async function showAbout() {
  return () => {
    main.innerHTML = '<h1>About</h1><div class="card"><p>Lighthouse keeps the tickets of a small harbour office.</p><p>All of them are on <a href="/tracker/">the list</a>, and the <a href="/tracker/people">people</a> have a page of their own.</p></div>';
  };
}

async function showNothing() {
  return () => {
    main.innerHTML = '<h1>There is no such page</h1><p><a href="/tracker/">Go to the tickets</a></p>';
  };
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='/tracker/']");
  if (!link || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  if ("back" in link.dataset && history.length > 1) history.back();
  else go(link.getAttribute("href"));
});
addEventListener("popstate", render);
render();
