// The flows of this folder, written for Playwright: node playwright.mjs SAMPLES COPIES WORKERS PICTURES [BROWSER FLAG...]
//
// Each flow is made COPIES times, by WORKERS beside each other, in contexts of one browser. It starts the server and the
// browser and ends them, as `ralph qa run` does. It compares no pictures, which ralph does.
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const [samples, copies, workers, pictures, ...args] = process.argv.slice(2);

const shown = (page, text) => page.getByText(text).first().waitFor();
const rows = (page, count) => page.waitForFunction((n) => document.querySelectorAll("tbody tr").length === n, count);
const settled = (page) => page.evaluate(() => document.fonts.ready);
const picture = async (page, name) => {
  await settled(page);
  await page.screenshot({ path: `${pictures}/${name}.png`, animations: "disabled" });
};

const flows = {
  async repair(page, name) {
    await page.goto("/repairs/");
    await page.getByLabel("Your name").fill("Ada Lovelace");
    await page.getByLabel("Phone").fill("0113 496 0000");
    await page.getByLabel("Email").fill("ada@example.com");
    await page.getByLabel("Kind of repair").selectOption({ label: "Brakes" });
    await page.getByRole("button", { name: "One bicycle more" }).click();
    await page.getByRole("checkbox", { name: "I have removed my lock and bags" }).click();
    await page.getByRole("button", { name: "Book the repair" }).click();
    await page.waitForURL("**/repairs/booked/1041");
    await shown(page, "Thank you, Ada Lovelace");
    await picture(page, name);
  },
  async tickets(page, name) {
    await page.goto("/tracker/");
    await shown(page, "12 of 12 tickets");
    await page.getByLabel("Search").fill("ines");
    await shown(page, "3 of 12 tickets");
    await rows(page, 3);
    await page.getByRole("link", { name: "Buoy 7 has drifted" }).click();
    await page.waitForURL("**/tracker/tickets/109");
    await shown(page, "No comments yet.");
    await page.getByLabel("Comment").fill("It was seen by the mill.");
    await page.getByRole("button", { name: "Add the comment" }).click();
    await page.getByRole("listitem").getByText("It was seen by the mill.").waitFor();
    await page.getByText("No comments yet.").waitFor({ state: "hidden" });
    await picture(page, name);
  },
  async weather(page, name) {
    await page.clock.install({ time: "2026-03-01T09:41:00Z" });
    await page.goto("/gauge/");
    await page.getByRole("heading", { name: "Weather at the harbour" }).waitFor();
    await page.getByRole("button", { name: "15:00" }).hover();
    await shown(page, "At 15:00 it was 17.0 °C.");
    await page.getByLabel("Station").selectOption({ label: "Hill" });
    await page.getByRole("heading", { name: "Weather at the hill" }).waitFor();
    await shown(page, "17.8");
    await page.getByRole("checkbox", { name: "Fahrenheit" }).click();
    await shown(page, "64.0");
    await picture(page, name);
  },
  async books(page, name) {
    await page.goto("/books/");
    await shown(page, "נמצאו 8 ספרים");
    await page.getByLabel("חיפוש").fill("נועה");
    await page.getByLabel("חיפוש").press("Enter");
    await page.waitForURL("**/books/?q=*");
    await rows(page, 2);
    await page.getByRole("button", { name: "הזמנה: הבית ברחוב השקט" }).click();
    await page.waitForURL("**/books/");
    await shown(page, "הוזמנו 1 מתוך 3");
    await picture(page, name);
    await page.getByRole("link", { name: "אודות" }).click();
    await page.waitForFunction((title) => document.title === title, "אודות – ספריית השכונה");
  },
  async ledger(page, name) {
    await page.goto("/ledger/");
    await page.getByLabel("Name").fill("Ada");
    await page.getByLabel("Password").fill("lantern-42");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL("**/ledger/");
    await shown(page, "Good morning, Ada");
    await picture(page, name);
    await page.getByRole("checkbox", { name: "Only money out" }).click();
    await shown(page, "4 movements");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL("**/ledger/login");
  },
};

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  return port;
}

const port = await freePort();
const server = spawn("/usr/bin/python3", ["serve.py"], { cwd: samples, env: { ...process.env, PORT: String(port) }, stdio: ["ignore", "pipe", "ignore"] });
try {
  await once(createInterface(server.stdout), "line");
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args });
  const queue = Object.keys(flows).flatMap((name) => Array.from({ length: Number(copies) }, (_, copy) => [name, `${name}-${copy + 1}`]));
  const work = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const context = await browser.newContext({ baseURL: `http://localhost:${port}`, viewport: { width: 1280, height: 720 } });
      context.setDefaultTimeout(10_000);
      await flows[next[0]](await context.newPage(), next[1]);
      await context.close();
    }
  };
  await Promise.all(Array.from({ length: Number(workers) }, work));
  await browser.close();
} finally {
  server.kill();
}
