//! Logs, metrics, errors, flags and calls at night.

use super::{SecretRule, behind, marked, named, token};

pub(super) const RULES: &[SecretRule] = &[
    token(
        "Grafana service account token",
        &["glsa_"],
        "<alnum>{32}_<hex>{8}",
    ),
    token("Grafana Cloud token", &["glc_"], "<base64>{32,}={0,2}"),
    token("Grafana legacy key", &["eyJrIjoi"], "<base64>{60,}={0,2}"),
    named(
        "Datadog key",
        &["datadog", "dd_api", "ddapi", "dd-api"],
        "<hex>{32}",
    ),
    named(
        "Datadog application key",
        &["datadog", "dd_app", "ddapp", "dd-app"],
        "<hex>{40}",
    ),
    token("New Relic key", &["NRAK-"], "<upper>{27}"),
    token("New Relic insert key", &["NRII-"], "<word>{32}"),
    token("New Relic browser key", &["NRJS-"], "<hex>{19}").resembles(),
    marked("New Relic license key", &["NRAL"], 36, "").entropy(3.0),
    token(
        "Sentry token",
        &["sntrys_eyJ"],
        "<base64>{60,}={0,2}_<base64>{43}",
    ),
    token("Sentry user token", &["sntryu_"], "<hex>{64}"),
    named("Sentry legacy token", &["sentry"], "<hex>{64}"),
    token(
        "Honeycomb key",
        &["hcaik_", "hcbik_", "hcxik_"],
        "<lower>{58}",
    ),
    named(
        "Honeycomb legacy key",
        &["honeycomb"],
        "<hex>{32}|<alnum>{22}",
    )
    .entropy(3.2),
    token(
        "Dynatrace token",
        &["dt0c01.", "dt0s01.", "dt0s16.", "dt0s02."],
        r"[A-Z2-7]{8,24}\.[A-Z2-7]{64}",
    ),
    token("Statsig secret", &["secret-"], "<alnum>{40,46}").entropy(3.8),
    token("PostHog key", &["phx_"], "<alnum>{43,48}"),
    named("Mixpanel secret", &["mixpanel"], "<hex>{32}"),
    named("Amplitude secret", &["amplitude"], "<hex>{32}"),
    token("Segment token", &["sgp_"], "<alnum>{64}"),
    named("Segment write key", &["segment"], "<alnum>{32}").entropy(3.8),
    named("Rollbar token", &["rollbar"], "<hex>{32}"),
    named("Bugsnag key", &["bugsnag"], "<hex>{32}"),
    token("Honeybadger token", &["hbp_"], "<alnum>{36}"),
    named("Airbrake key", &["airbrake"], "<hex>{32}"),
    named("Loggly token", &["loggly"], "<uuid>"),
    named("Logz.io token", &["logzio", "logz_io"], "[A-Za-z]{32}").entropy(3.8),
    named("Logtail token", &["logtail", "betterstack"], "<alnum>{24}").entropy(3.5),
    named("Papertrail token", &["papertrail"], "<alnum>{20}").entropy(3.2),
    named("Sumo Logic key", &["sumologic", "sumo_"], "<alnum>{64}").entropy(4.0),
    behind(
        "Sumo Logic collector",
        &["sumologic.com/receiver/v1/http/"],
        "(<word>{80,}={0,2})",
    ),
    named("Splunk token", &["splunk"], "<uuid>"),
    named(
        "Coralogix key",
        &["coralogix"],
        "cxt[hp]_<alnum>{30}|<uuid>",
    ),
    named("Axiom token", &["axiom"], "xa[ap]t-<uuid>"),
    token("Checkly key", &["cu_"], "<hex>{32}"),
    named("Opsgenie key", &["opsgenie"], "<uuid>"),
    named(
        "PagerDuty key",
        &["pagerduty", "pd_"],
        "(?:u\\+)?[A-Za-z0-9_+-]{18,20}|<hex>{32}",
    )
    .entropy(3.4),
    named("VictorOps key", &["victorops"], "<uuid>"),
    named("Statuspage key", &["statuspage"], "<uuid>"),
    named(
        "UptimeRobot key",
        &["uptimerobot", "uptime_robot"],
        "[um][0-9]{6,9}-<hex>{24}",
    ),
    named("Pingdom token", &["pingdom"], "<word>{83}").entropy(4.0),
    behind("Healthchecks ping", &["hc-ping.com/"], "(<uuid>)").resembles(),
    named(
        "Split key",
        &["split_io", "splitio", "split_sdk"],
        "<lower>{36,52}",
    )
    .entropy(3.5),
    named("Optimizely token", &["optimizely"], r"2:<word>{40,}").entropy(3.8),
    named("AppDynamics key", &["appdynamics"], "<lower>{12}").entropy(3.0),
    named("SignalFx token", &["signalfx", "sfx_"], "<word>{22}").entropy(3.8),
    named("Lightstep token", &["lightstep"], "<base64>{70,}={0,2}").entropy(4.0),
    named("Raygun key", &["raygun"], "<alnum>{22}").entropy(3.8),
    named("Instana key", &["instana"], "<word>{22}").entropy(3.8),
    token("Rootly key", &["rootly_"], "<hex>{64}"),
];
