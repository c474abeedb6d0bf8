//! Databases, search and content.

use super::{SecretRule, named, token};

pub(super) const RULES: &[SecretRule] = &[
    token("Supabase token", &["sbp_"], "(?:v0_)?<hex>{40}"),
    token("Supabase secret key", &["sb_secret_"], "<word>{30,42}"),
    token(
        "PlanetScale token",
        &["pscale_tkn_", "pscale_oauth_"],
        "[A-Za-z0-9_.=-]{32,64}",
    ),
    token(
        "PlanetScale password",
        &["pscale_pw_"],
        "[A-Za-z0-9_.=-]{32,64}",
    ),
    token("Neon key", &["napi_"], "<lower>{64}"),
    token("MongoDB Atlas secret", &["mdb_sa_sk_"], "<word>{40}"),
    named(
        "MongoDB Atlas key",
        &["mongodb_atlas", "atlas_private", "atlas_"],
        "<uuid>",
    ),
    token("Databricks token", &["dapi"], "<hex>{32}(?:-[0-9])?"),
    token("Databricks secret", &["dose"], "<hex>{32}"),
    token("Aiven password", &["AVNS_"], "<word>{19}"),
    named(
        "Aiven token",
        &["aiven"],
        "<base64>{200,}={0,2}|[A-Za-z0-9+/=]{372}",
    ),
    token(
        "CockroachDB Cloud key",
        &["CCDB1_"],
        "<alnum>{22}_<alnum>{40}",
    ),
    token("Confluent secret", &["cflt"], "<base64>{60}"),
    named(
        "Confluent legacy secret",
        &["confluent", "kafka"],
        "<base64>{64}",
    )
    .entropy(4.2),
    named("Upstash token", &["upstash"], "[A-Za-z0-9_-]{38,60}={0,2}").entropy(4.0),
    named(
        "Elastic key",
        &["elastic", "es_api"],
        "<base64>{60}|<base64>{58}==",
    )
    .entropy(4.0),
    token(
        "Elastic Cloud key",
        &["essu_"],
        "[A-Za-z0-9+/_-]{60,}={0,2}",
    ),
    named("Algolia key", &["algolia"], "<hex>{32}"),
    named("Meilisearch key", &["meili"], "<hex>{64}|<word>{43}").entropy(3.0),
    named("Typesense key", &["typesense"], "<alnum>{32}").entropy(3.8),
    named("Fauna secret", &["fauna"], "fn<word>{38,40}"),
    named(
        "Redis Cloud key",
        &["redis_cloud", "rediscloud"],
        "[A-Z]<lower>{50}|<lower>{51}",
    )
    .entropy(3.5),
    named("InfluxDB token", &["influx"], "<word>{86}==").entropy(4.0),
    token("Tinybird token", &["p.eyJ"], r"<word>{30,}\.<word>{30,}"),
    named("SingleStore key", &["singlestore"], "<hex>{64}"),
    token("Contentful token", &["CFPAT-"], "<word>{43}"),
    named("Contentful delivery token", &["contentful"], "<word>{43}").entropy(3.8),
    named("DatoCMS token", &["datocms", "dato_"], "<hex>{30}"),
    named("Storyblok token", &["storyblok"], "<alnum>{22}tt").entropy(3.5),
    named("Sanity token", &["sanity"], "sk<alnum>{80,180}"),
    named(
        "Prismic token",
        &["prismic"],
        r"MC5<alnum>{20,}\.<word>{20,}",
    ),
    token("Airtable token", &["pat"], r"<alnum>{14}\.<hex>{64}"),
    named("Airtable legacy key", &["airtable"], "key<alnum>{14}").entropy(3.0),
    token("Notion token", &["ntn_"], "[0-9]{11}<alnum>{35}"),
    token("Notion secret", &["secret_"], "<alnum>{43}").entropy(3.8),
    named("Dropbox secret", &["dropbox"], "<lower>{15}").entropy(3.0),
    token("Dropbox token", &["sl."], r"(?:u\.|B)<word>{120,}"),
    named("Box secret", &["box_client", "boxclient"], "<alnum>{32}").entropy(3.8),
    token(
        "Apollo key",
        &["service:", "user:"],
        "[A-Za-z0-9_.-]{2,60}:<word>{22}",
    )
    .entropy(3.8)
    .resembles(),
    token(
        "Prisma key",
        &["prisma+postgres://accelerate.prisma-data.net/?api_key="],
        "<word>{20,}",
    ),
    named("Hasura secret", &["hasura"], "<alnum>{64}").entropy(4.0),
    named(
        "Snowflake password",
        &["snowflake"],
        r#"[^\s"'`<>{}$\\]{12,64}"#,
    )
    .entropy(3.5)
    .resembles(),
];
