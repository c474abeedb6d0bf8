//! A browser that is newer than ralph: its messages hold what ralph has never seen.

use std::{fs, os::unix::fs::PermissionsExt as _};

use super::{
    BrowserProgram, LIMIT, QaBrowser, act,
    acts::{click, type_into},
    any, label, open, place, sees,
    site::Site,
    with_browser,
};

/// Starts the browser, and stands between it and ralph: behind each message of the browser's come others.
const BETWEEN: &str = r#"#!/usr/bin/python3
import re, socket, struct, subprocess, sys, threading
browser = subprocess.Popen(["/usr/bin/chromium"] + sys.argv[1:], stderr=subprocess.PIPE)
for line in browser.stderr:
    found = re.search(rb"listening on ws://127.0.0.1:(\d+)(\S+)", line)
    if found: break
threading.Thread(target=lambda: browser.stderr.read(), daemon=True).start()
listener = socket.socket(); listener.bind(("127.0.0.1", 0)); listener.listen()
port = listener.getsockname()[1]
print(f"DevTools listening on ws://127.0.0.1:{port}{found[2].decode()}", file=sys.stderr, flush=True)
client, _ = listener.accept()
server = socket.create_connection(("127.0.0.1", int(found[1])))
def frame(kind, data):
    head = bytes([0x80 | kind])
    head += bytes([len(data)]) if len(data) < 126 else bytes([126]) + struct.pack(">H", len(data))
    return head + data
odd = [frame(1, text.encode()) for text in [
    '{"method":"Future.somethingNew","params":{"a":[1]},"sessionId":"none"}',
    '{"method":"Future.noParams"}',
    '{"method":"Network.requestWillBeSent","params":{"type":"Hologram","request":17,"requestId":{}}}',
    '{"method":"Page.lifecycleEvent","params":null}',
    '{"method":"Target.targetCreated","params":{"targetInfo":{"type":"dream"}}}',
    '{"id":99999999,"result":{}}', '{"id":"x"}', '{"method":5}', '[]', '"text"', 'no JSON {',
]] + [frame(2, b"\x00\x01"), frame(9, b"ping")]
def up():
    while data := client.recv(65536): server.sendall(data)
threading.Thread(target=up, daemon=True).start()
source = server.makefile("rb")
while (line := source.readline()) not in (b"\r\n", b""): client.sendall(line)
client.sendall(line)
turn = 0
while head := source.read(2):
    size = head[1] & 127
    more = source.read(2) if size == 126 else source.read(8) if size == 127 else b""
    if more: size = int.from_bytes(more, "big")
    client.sendall(head + more + source.read(size))
    if head[0] & 0x80: client.sendall(odd[turn % len(odd)]); turn += 1
"#;

#[tokio::test]
async fn messages_that_ralph_does_not_know_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("browser");
    fs::write(&path, BETWEEN).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let program = BrowserProgram {
        path,
        name: "Chromium".into(),
        version: "999.0.0.0".into(),
        major: 999,
    };
    let site = Site::one(
        "<label>Name <input id=name></label>
         <button onclick=\"out.textContent = 'Hello ' + document.getElementById('name').value\">Greet</button>
         <p id=out></p>",
    );
    let work = async |browser: &QaBrowser| {
        for _ in 0..3 {
            let page = open(browser, &site, "/").await;
            act(&page, type_into(label("Name"), "Ada")).await;
            act(&page, click(any("Greet"))).await;
            sees(&page, "Hello Ada").await;
            page.close().await;
        }
        assert!(!browser.is_gone());
    };
    let place = place();
    let whole = with_browser(&program, &place, work);
    tokio::time::timeout(LIMIT, whole).await.unwrap().unwrap();
}
