//! The hosts that programs in a sandbox reach, and those that they do not.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use ralph_core::config::{AgentNetwork, SafetyConfig};

use super::ground::Machine;
use crate::layer::tests::support::{Ground, as_root_and_as_user, plain};
use crate::process::SandboxMeans;

/// A service of this machine that answers every request alike; returns its port.
fn service(answer: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for guest in listener.incoming() {
            let mut guest = guest.unwrap();
            let mut head = [0; 4096];
            let _ = guest.read(&mut head);
            let text = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{answer}",
                answer.len()
            );
            let _ = guest.write_all(text.as_bytes());
        }
    });
    port
}

fn machine<'a>(ground: &'a Ground, network: AgentNetwork, hosts: &[String]) -> Machine<'a> {
    Machine::with(
        ground,
        SandboxMeans::Namespaces,
        |safety: &mut SafetyConfig| {
            safety.network = network;
            safety.allow_hosts = hosts.to_vec();
        },
    )
}

/// Asks for a page without a proxy.
fn ask(host: &str, port: u16) -> String {
    format!(
        "/usr/bin/python3 -c 'import socket; s = socket.create_connection((\"{host}\", {port}), 5); \
         s.sendall(b\"GET / HTTP/1.0\\r\\n\\r\\n\"); print(s.recv(4096).decode().split(\"\\r\\n\\r\\n\")[-1])' 2>&1"
    )
}

/// Sends a request to the proxy as it is, and prints the first line of the answer.
fn ask_proxy(request: &str) -> String {
    format!(
        "/usr/bin/python3 -c 'import os, socket; h, p = os.environ[\"HTTP_PROXY\"][7:].split(\":\"); \
         s = socket.create_connection((h, int(p)), 5); s.sendall(b\"{request} HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n\"); \
         print(s.recv(4096).decode().split(\"\\r\\n\")[0])' 2>&1"
    )
}

as_root_and_as_user! {
    without_a_network_no_service_of_the_machine_is_reached_but_its_own: plain => |ground| {
        let port = service("outside");
        let machine = machine(ground, AgentNetwork::Off, &[]);
        let (said, _) = machine.run_agent(&ask("127.0.0.1", port), &[]);
        assert!(said.contains("refused"), "{said}");
        let own = "/usr/bin/python3 -c 'import socket; l = socket.create_server((\"127.0.0.1\", 0)); \
                   s = socket.create_connection(l.getsockname()); print(\"own\")'";
        let (said, _) = machine.run_agent(own, &[]);
        assert_eq!(said, "own\n");
    };

    with_its_model_alone_an_agent_reaches_listed_hosts_and_no_others: plain => |ground| {
        let (port, other) = (service("model"), service("other"));
        let hosts = [format!("127.0.0.1:{port}")];
        let machine = machine(ground, AgentNetwork::ModelOnly, &hosts);
        let (said, _) = machine.run_agent(&ask("127.0.0.1", port), &[]);
        assert_eq!(said, "model\n");
        let seen = |host: &str, port: u16, reached: bool| {
            machine.connections.borrow().iter().any(|connection| {
                connection.host == host && connection.port == port && connection.reached == reached
            })
        };
        assert!(seen("127.0.0.1", port, true));
        let (said, _) = machine.run_agent(&ask("127.0.0.1", other), &[]);
        assert!(said.contains("refused"), "{said}");
        for (request, answer) in [
            (format!("CONNECT 127.0.0.1:{port}"), "HTTP/1.1 200 Connection established"),
            (format!("GET http://127.0.0.1:{port}/"), "HTTP/1.1 200 OK"),
            (format!("CONNECT 127.0.0.1:{other}"), "HTTP/1.1 403 Forbidden"),
            (format!("CONNECT localhost:{port}"), "HTTP/1.1 403 Forbidden"),
            (format!("CONNECT 127.1:{port}"), "HTTP/1.1 403 Forbidden"),
            (format!("CONNECT 2130706433:{port}"), "HTTP/1.1 403 Forbidden"),
            (format!("GET http://user@127.0.0.1:{other}/"), "HTTP/1.1 403 Forbidden"),
            ("CONNECT 169.254.169.254:80".to_owned(), "HTTP/1.1 403 Forbidden"),
            ("CONNECT example.com:443".to_owned(), "HTTP/1.1 403 Forbidden"),
            ("GET /".to_owned(), "HTTP/1.1 400 Bad Request"),
        ] {
            let (said, _) = machine.run_agent(&ask_proxy(&request), &[]);
            assert_eq!(said, format!("{answer}\n"), "{request}");
        }
        let (said, _) = machine.run_agent(&ask_proxy("CONNECT example.com:443"), &[]);
        assert!(said.contains("403"), "{said}");
        assert!(seen("example.com", 443, false), "what was refused is in the record too");
    };

    a_name_leads_to_its_door_and_the_doors_to_it: plain => |ground| {
        let port = service("by name");
        let hosts = [format!("localhost:{port}")];
        let machine = machine(ground, AgentNetwork::ModelOnly, &hosts);
        let (said, _) = machine.run_agent(&ask("localhost", port), &[]);
        assert_eq!(said, "by name\n");
        let (said, _) = machine.run_agent("cat /etc/hosts", &[]);
        assert_eq!(said, "127.0.0.1 localhost\n::1 localhost\n");
    };

    a_listed_name_that_leads_to_this_machine_is_refused: plain => |ground| {
        // This machine's own name is in its file of hosts, and leads to its loopback.
        let name = std::fs::read_to_string("/etc/hostname").unwrap().trim().to_owned();
        let port = service("secret");
        let machine = machine(ground, AgentNetwork::ModelOnly, &[format!("{name}:{port}")]);
        let (said, _) = machine.run_agent(&ask_proxy(&format!("CONNECT {name}:{port}")), &[]);
        let is_refused = said.contains("403") || said.contains("502");
        assert!(is_refused, "{said}");
    };
}
