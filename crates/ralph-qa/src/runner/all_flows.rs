//! All flows of a run: what would make them impossible is found first, then server and browser are started for them.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use futures_util::{StreamExt as _, stream};
use tokio::{net::TcpStream, time::timeout};

use super::{
    FlowsRun, QaError,
    flow_run::{run_flow, unstarted},
    results,
};
use crate::{
    browser::{QaBrowser, base_place, is_relative, with_browser},
    flow::{FlowStepAction, TypedText},
    program::{BrowserProgram, find_browser},
    result::{FailureKind, FlowVerificationResult, QaReport, VERSION},
    server::{Server, with_server},
};

/// The longest that an address may take to accept a connection, before any flow is run.
const REACH: Duration = Duration::from_secs(10);

pub(super) async fn run_all_flows(run: &FlowsRun<'_>) -> Result<QaReport, QaError> {
    let started = Instant::now();
    check_flows(run)?;
    results::prepare(&run.config.results, run.joins)?;
    let program = find_browser(run.config.browser.as_deref(), run.place).await?;
    let (flows, server_log) = match (&run.config.server, run.url) {
        (Some(settings), None) => {
            let done = with_server(settings, run.place, async |server: &Server| {
                let flows = run_all(run, &program, Some(&server.url())).await;
                (flows, server.log())
            });
            let (flows, log) = done.await?;
            (flows?, log)
        }
        (_, url) => {
            let base = url.or(run.config.url.as_deref());
            (run_all(run, &program, base).await?, Vec::new())
        }
    };
    let passed = flows.iter().all(|flow| flow.passed);
    Ok(QaReport {
        version: VERSION,
        passed,
        browser: Some(program.to_string()),
        flows,
        seconds: started.elapsed().as_secs_f64(),
        server_log: if passed { Vec::new() } else { server_log },
    })
}

/// Finds what makes flows impossible before anything is started.
fn check_flows(run: &FlowsRun<'_>) -> Result<(), QaError> {
    let has_base = run.url.is_some() || run.config.server.is_some() || run.config.url.is_some();
    for (index, flow) in run.flows.iter().enumerate() {
        let mut others = run.flows.iter().take(index);
        if let Some(other) = others.find(|other| other.name == flow.name) {
            return Err(QaError::SameName {
                name: flow.name.clone(),
                first: other.file.clone(),
                second: flow.file.clone(),
            });
        }
        for step in &flow.steps {
            match &step.action {
                FlowStepAction::Type {
                    text: TypedText::SecretVariable(variable),
                    ..
                } if !run.secrets.iter().any(|(name, _)| name == variable) => {
                    return Err(QaError::Secret {
                        file: flow.file.clone(),
                        line: step.line,
                        variable: variable.clone(),
                    });
                }
                FlowStepAction::Navigate { url, .. }
                    if is_relative(url) && flow.settings.url.is_none() && !has_base =>
                {
                    return Err(QaError::NoUrl {
                        file: flow.file.clone(),
                        line: step.line,
                        address: url.clone(),
                    });
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Runs all flows in one browser. If that dies, the flows that it took with it are run once more in another one: they
/// may have had no part in it.
async fn run_all(
    run: &FlowsRun<'_>,
    program: &BrowserProgram,
    base: Option<&str>,
) -> Result<Vec<FlowVerificationResult>, QaError> {
    let is_started = run.config.server.is_some() && run.url.is_none();
    check_bases(run, base, is_started).await?;
    let mut results: Vec<Option<FlowVerificationResult>> = vec![None; run.flows.len()];
    let mut open: Vec<usize> = (0..run.flows.len()).collect();
    for is_last in [false, true] {
        let round = with_browser(program, run.place, async |browser: &QaBrowser| {
            run_round(run, browser, base, &open, is_last).await
        });
        let round = match round.await {
            Ok(round) => round,
            Err(error) if !is_last => return Err(error.into()),
            // Those that the first browser took with it keep what is known of them.
            Err(_) => break,
        };
        for (index, result) in round {
            results[index] = Some(result);
        }
        open.retain(|index| results[*index].as_ref().is_none_or(has_lost_its_browser));
        if open.is_empty() {
            break;
        }
    }
    let flows = run.flows.iter().zip(results);
    let flows = flows.map(|(flow, result)| match result {
        Some(result) => result,
        None => unstarted(flow, run.config),
    });
    Ok(flows.collect())
}

fn has_lost_its_browser(result: &FlowVerificationResult) -> bool {
    let mut failures = result.steps.iter().filter_map(|step| step.failure.as_ref());
    failures.any(|failure| failure.kind == FailureKind::Browser)
}

/// Runs flows beside each other, and then those that must be alone. Where the browser dies, the rest is left.
async fn run_round(
    run: &FlowsRun<'_>,
    browser: &QaBrowser,
    base: Option<&str>,
    open: &[usize],
    is_last: bool,
) -> Vec<(usize, FlowVerificationResult)> {
    let one = async |index: usize| {
        if browser.is_gone() {
            return None;
        }
        let flow = run.flows.get(index)?;
        let result = run_flow(run, browser, flow, base).await;
        let is_run_again = !is_last && browser.is_gone() && has_lost_its_browser(&result);
        if !is_run_again {
            (run.ended)(&result);
        }
        Some((index, result))
    };
    let is_alone = |index: &usize| {
        run.flows
            .get(*index)
            .is_some_and(|flow| flow.settings.alone)
    };
    let (alone, beside): (Vec<usize>, Vec<usize>) = open.iter().partition(|index| is_alone(index));
    let beside = stream::iter(beside)
        .map(one)
        .buffer_unordered(run.config.jobs.max(1));
    let mut done: Vec<_> = beside.filter_map(async |done| done).collect().await;
    for index in alone {
        done.extend(one(index).await);
    }
    done
}

/// Connects to the addresses that flows go to, where ralph has not started what listens there.
async fn check_bases(
    run: &FlowsRun<'_>,
    base: Option<&str>,
    is_started: bool,
) -> Result<(), QaError> {
    let mut asked = BTreeSet::new();
    for flow in run.flows {
        let url = match &flow.settings.url {
            Some(url) => url.as_str(),
            None if is_started => continue,
            None => match base {
                Some(base) => base,
                None => continue,
            },
        };
        // What lies behind a proxy of the machine is not to be connected to.
        let Some(place) = base_place(url, &run.place.env) else {
            continue;
        };
        if !asked.insert(place.clone()) {
            continue;
        }
        let reason = match timeout(REACH, TcpStream::connect(&place)).await {
            Ok(Ok(_)) => continue,
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no connection within {} s", REACH.as_secs()),
        };
        return Err(QaError::Unreachable {
            url: url.to_owned(),
            flow: flow.name.clone(),
            reason,
        });
    }
    Ok(())
}
