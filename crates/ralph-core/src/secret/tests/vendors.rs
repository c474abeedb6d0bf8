//! Makes secrets as their vendors do, and texts that people put them into.
//!
//! Knows nothing of the rules: formats are those of the vendors' own documentation, with the checksum where there is
//! one, and names are those that their manuals give to variables.

/// A vendor's secret: the usual name of its variable, and its format.
///
/// In a format `{a30}` is 30 letters and digits. The letters: `a` letters and digits, `l` small letters and digits,
/// `U` capitals and digits, `h` hex, `H` hex in capitals, `d` digits, `w` those of `a` with `_` and `-`, `b` base64,
/// `t` base32, `z` small base32, `s` small letters, `u` a UUID, `j` a part of a web token, `c` a checksum as GitHub
/// and npm have it.
pub(super) struct Vendor {
    pub(super) variable: &'static str,
    pub(super) format: &'static str,
}

const fn of(variable: &'static str, format: &'static str) -> Vendor {
    Vendor { variable, format }
}

pub(super) const VENDORS: &[Vendor] = &[
    of("GITHUB_TOKEN", "ghp_{a30}{c}"),
    of("GH_TOKEN", "gho_{a30}{c}"),
    of("APP_USER_TOKEN", "ghu_{a30}{c}"),
    of("INSTALLATION_TOKEN", "ghs_{a30}{c}"),
    of("REFRESH", "ghr_{a70}{c}"),
    of("GITHUB_PAT", "github_pat_{a22}_{a59}"),
    of("GITLAB_TOKEN", "glpat-{w20}"),
    of("GITLAB_TOKEN", "glpat-{w27}.01.{l9}"),
    of("CI_DEPLOY_PASSWORD", "gldt-{w20}"),
    of("RUNNER_TOKEN", "glrt-{w20}"),
    of("CI_JOB_TOKEN", "glcbt-64_{w20}"),
    of("TRIGGER", "glptt-{h40}"),
    of("FEED", "glft-{w20}"),
    of("MAIL", "glimt-{l25}"),
    of("KAS", "glagent-{w50}"),
    of("OAUTH", "gloas-{h64}"),
    of("SCIM", "glsoat-{w20}"),
    of("REGISTRATION_TOKEN", "GR1348941{w20}"),
    of("BITBUCKET_APP_PASSWORD", "ATBB{a24}{H8}"),
    of("JIRA_API_TOKEN", "ATATT3xFfGF0{w170}={H8}"),
    of("BITBUCKET_TOKEN", "ATCTT3xFfGN0{w170}={H8}"),
    of("AZURE_DEVOPS_EXT_PAT", "{a76}AZDO{a4}"),
    of("AZURE_DEVOPS_PAT_TOKEN", "{z52}"),
    of("CIRCLE_TOKEN", "CCIPAT_{a22}_{h40}"),
    of("CIRCLECI_TOKEN", "{h40}"),
    of("BUILDKITE_API_TOKEN", "bkua_{h40}"),
    of("CODECOV_TOKEN", "{u}"),
    of("SNYK_TOKEN", "{u}"),
    of("SONAR_TOKEN", "sqp_{h40}"),
    of("SONAR_TOKEN", "{h40}"),
    of("SRC_ACCESS_TOKEN", "sgp_{h16}_{h40}"),
    of("NPM_TOKEN", "npm_{a30}{c}"),
    of("TWINE_PASSWORD", "pypi-AgEIcHlwaS5vcmcCJ{w150}"),
    of("TEST_PYPI", "pypi-AgENdGVzdC5weXBpLm9yZwIk{w140}"),
    of("GEM_HOST_API_KEY", "rubygems_{h48}"),
    of("CARGO_REGISTRY_TOKEN", "cio{a32}"),
    of("NUGET_API_KEY", "oy2{z43}"),
    of("DOCKER_PASSWORD", "dckr_pat_{w27}"),
    of("CLOJARS_PASSWORD", "CLOJARS_{l60}"),
    of("ARTIFACTORY_API_KEY", "AKCp8{a68}"),
    of("JFROG_ACCESS_TOKEN", "cmVmdGtuO{a55}"),
    of("POSTMAN_API_KEY", "PMAK-{h24}-{h34}"),
    of("PREFECT_API_KEY", "pnu_{a36}"),
    of("PULUMI_ACCESS_TOKEN", "pul-{h40}"),
    of("INFRACOST_API_KEY", "ico-{a32}"),
    of("DOPPLER_TOKEN", "dp.st.prd.{a40}"),
    of("DOPPLER_TOKEN", "dp.pt.{a43}"),
    of("TF_API_TOKEN", "{a14}.atlasv1.{a67}"),
    of("LINEAR_API_KEY", "lin_api_{a40}"),
    of("LAUNCHDARKLY_SDK_KEY", "sdk-{u}"),
    of("VAULT_TOKEN", "hvs.{w95}"),
    of("TS_AUTHKEY", "tskey-auth-{a17}-{a32}"),
    of("SOPS_AGE_KEY", "AGE-SECRET-KEY-1{U58}"),
    of("OKTA_API_TOKEN", "00{w40}"),
    of("NGROK_AUTHTOKEN", "{a27}_{a21}"),
    of("OP_SERVICE_ACCOUNT_TOKEN", "ops_eyJ{w250}"),
    of("AWS_ACCESS_KEY_ID", "AKIA{t16}"),
    of("AWS_ACCESS_KEY_ID", "ASIA{t16}"),
    of("AWS_SECRET_ACCESS_KEY", "{b40}"),
    of("AWS_SESSION_TOKEN", "{b300}"),
    of("AWS_BEARER_TOKEN_BEDROCK", "ABSK{b128}"),
    of("MWS_AUTH_TOKEN", "amzn.mws.{u}"),
    of("GOOGLE_API_KEY", "AIza{w35}"),
    of("GOOGLE_CLIENT_SECRET", "GOCSPX-{w28}"),
    of("GOOGLE_ACCESS", "ya29.{w180}"),
    of("GOOGLE_REFRESH", "1//0{w60}"),
    of("FCM_SERVER_KEY", "{w11}:APA91b{w134}"),
    of("AZURE_CLIENT_SECRET", "{a3}8Q~{w34}"),
    of(
        "AZURE_STORAGE",
        "DefaultEndpointsProtocol=https;AccountName=a;AccountKey={b86}==",
    ),
    of(
        "SERVICEBUS",
        "Endpoint=sb://a.servicebus.windows.net/;SharedAccessKeyName=n;SharedAccessKey={b43}=",
    ),
    of("REGISTRY", "{b42}+ACRA{b5}"),
    of("FUNCTION", "{w44}AzFu{w5}A=="),
    of("SEARCH_ADMIN", "{a42}AzSeA{a5}"),
    of("DIGITALOCEAN_TOKEN", "dop_v1_{h64}"),
    of("LINODE_TOKEN", "{h64}"),
    of("HCLOUD_TOKEN", "{a64}"),
    of("VULTR_API_KEY", "{U36}"),
    of("SCW_SECRET_KEY", "{u}"),
    of("ALIBABA_CLOUD_ACCESS_KEY_ID", "LTAI5t{a18}"),
    of("ALIBABA_CLOUD_ACCESS_KEY_SECRET", "{a30}"),
    of("TENCENTCLOUD_SECRET_ID", "AKID{a32}"),
    of("YC_API_KEY", "AQVN{w36}"),
    of("IBMCLOUD_API_KEY", "{w44}"),
    of("CLOUDFLARE_API_KEY", "{h37}"),
    of("CLOUDFLARE_API_TOKEN", "{w40}"),
    of("ORIGIN_CA", "v1.0-{h24}-{h146}"),
    of("FASTLY_API_TOKEN", "{w32}"),
    of("HEROKU_API_KEY", "{u}"),
    of("HEROKU_API_KEY", "HRKU-AA{w58}"),
    of("FLY_ACCESS", "fo1_{w43}"),
    of("FLY_API_TOKEN", "fm2_{b300}"),
    of("RENDER_API_KEY", "rnd_{a28}"),
    of("RAILWAY_TOKEN", "{u}"),
    of("VERCEL_TOKEN", "{a24}"),
    of("NETLIFY_AUTH_TOKEN", "nfp_{w36}"),
    of("MAPBOX_SECRET_TOKEN", "sk.eyJ1Ijoi{w60}.{w22}"),
    of("SUPABASE_ACCESS_TOKEN", "sbp_{h40}"),
    of("SUPABASE_SECRET_KEY", "sb_secret_{w31}"),
    of("PLANETSCALE_SERVICE_TOKEN", "pscale_tkn_{w43}"),
    of("DATABASE_PASSWORD", "pscale_pw_{w43}"),
    of("NEON_API_KEY", "napi_{l64}"),
    of("DATABRICKS_TOKEN", "dapi{h32}"),
    of("AIVEN_PASSWORD", "AVNS_{w19}"),
    of("COCKROACH_API_KEY", "CCDB1_{a22}_{a40}"),
    of("ALGOLIA_ADMIN_KEY", "{h32}"),
    of("INFLUX_TOKEN", "{w86}=="),
    of("CONTENTFUL_MANAGEMENT_TOKEN", "CFPAT-{w43}"),
    of("AIRTABLE_TOKEN", "pat{a14}.{h64}"),
    of("AIRTABLE_API_KEY", "key{a14}"),
    of("NOTION_TOKEN", "ntn_{d11}{a35}"),
    of("NOTION_TOKEN", "secret_{a43}"),
    of("DROPBOX", "sl.B{w135}"),
    of("ANTHROPIC_API_KEY", "sk-ant-api03-{w93}AA"),
    of("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-{w93}AA"),
    of("OPENAI_API_KEY", "sk-{a20}T3BlbkFJ{a20}"),
    of("OPENAI_API_KEY", "sk-proj-{w74}T3BlbkFJ{w74}"),
    of("OPENROUTER_API_KEY", "sk-or-v1-{h64}"),
    of("DEEPSEEK_API_KEY", "sk-{h32}"),
    of("HF_TOKEN", "hf_{a34}"),
    of("REPLICATE_API_TOKEN", "r8_{a37}"),
    of("GROQ_API_KEY", "gsk_{a52}"),
    of("PERPLEXITY_API_KEY", "pplx-{a48}"),
    of("XAI_API_KEY", "xai-{a80}"),
    of("CEREBRAS_API_KEY", "csk-{l48}"),
    of("NVIDIA_API_KEY", "nvapi-{w64}"),
    of("LANGSMITH_API_KEY", "lsv2_pt_{h32}_{h10}"),
    of("LANGFUSE_SECRET_KEY", "sk-lf-{u}"),
    of("ELEVENLABS_API_KEY", "sk_{h48}"),
    of("TAVILY_API_KEY", "tvly-dev-{a32}"),
    of("FIRECRAWL_API_KEY", "fc-{h32}"),
    of("E2B_API_KEY", "e2b_{h40}"),
    of("APIFY_TOKEN", "apify_api_{a36}"),
    of("COHERE_API_KEY", "{a40}"),
    of("MISTRAL_API_KEY", "{a32}"),
    of("WANDB_API_KEY", "{h40}"),
    of("DEEPGRAM_API_KEY", "{h40}"),
    of("AZURE_OPENAI_API_KEY", "{h32}"),
    of("STRIPE_SECRET_KEY", "sk_live_51{a97}"),
    of("STRIPE_SECRET_KEY", "sk_live_{a24}"),
    of("STRIPE_RESTRICTED", "rk_live_51{a97}"),
    of("STRIPE_TEST", "sk_test_51{a97}"),
    of("STRIPE_WEBHOOK_SECRET", "whsec_{a32}"),
    of("SQUARE_ACCESS_TOKEN", "EAAA{w60}"),
    of("SQUARE_SECRET", "sq0csp-{w43}"),
    of("BRAINTREE", "access_token$production${l16}${h32}"),
    of("PAYPAL_CLIENT_SECRET", "E{w79}"),
    of("PLAID_TOKEN", "access-production-{u}"),
    of("PLAID_SECRET", "{h30}"),
    of("FLW_SECRET", "FLWSECK-{h32}-X"),
    of("EASYPOST_API_KEY", "EZAK{a54}"),
    of("SHIPPO_TOKEN", "shippo_live_{h40}"),
    of("DUFFEL_ACCESS_TOKEN", "duffel_live_{w43}"),
    of("SHOPIFY_ACCESS_TOKEN", "shpat_{h32}"),
    of("SHOPIFY_SECRET", "shpss_{h32}"),
    of("MOLLIE_API_KEY", "live_{a30}"),
    of("SLACK_BOT_TOKEN", "xoxb-{d12}-{d13}-{a24}"),
    of("SLACK_USER_TOKEN", "xoxp-{d12}-{d12}-{d13}-{h32}"),
    of("SLACK_APP_TOKEN", "xapp-1-A{U10}-{d13}-{h64}"),
    of(
        "SLACK_WEBHOOK_URL",
        "https://hooks.slack.com/services/T{U10}/B{U10}/{a24}",
    ),
    of(
        "DISCORD_WEBHOOK",
        "https://discord.com/api/webhooks/{d19}/{w68}",
    ),
    of("DISCORD_TOKEN", "MT{w24}.{w6}.{w38}"),
    of("TELEGRAM_BOT_TOKEN", "{d10}:AA{w33}"),
    of(
        "TEAMS",
        "https://a.webhook.office.com/webhookb2/{u}@{u}/IncomingWebhook/{h32}/{u}",
    ),
    of("SENDGRID_API_KEY", "SG.{w22}.{w43}"),
    of("MAILGUN_API_KEY", "key-{h32}"),
    of("MAILGUN_API_KEY", "{h32}-{h8}-{h8}"),
    of("MAILCHIMP_API_KEY", "{h32}-us12"),
    of("BREVO_API_KEY", "xkeysib-{h64}-{a16}"),
    of("RESEND_API_KEY", "re_{a8}_{a24}"),
    of("POSTMARK_SERVER_TOKEN", "{u}"),
    of("TWILIO_API_KEY", "SK{h32}"),
    of("TWILIO_AUTH_TOKEN", "{h32}"),
    of("TELNYX_API_KEY", "KEY01{H30}_{a22}"),
    of("FACEBOOK_ACCESS_TOKEN", "EAAG{a180}"),
    of("FACEBOOK_APP_SECRET", "{h32}"),
    of("TWITCH_CLIENT_SECRET", "{l30}"),
    of("SPOTIFY_CLIENT_SECRET", "{h32}"),
    of("GRAFANA_TOKEN", "glsa_{a32}_{h8}"),
    of("GRAFANA_CLOUD_TOKEN", "glc_eyJvIjoi{b140}"),
    of("DATADOG_API_KEY", "{h32}"),
    of("DD_APP_KEY", "{h40}"),
    of("NEW_RELIC_API_KEY", "NRAK-{U27}"),
    of("NEW_RELIC_LICENSE_KEY", "{h36}NRAL"),
    of("SENTRY_AUTH_TOKEN", "sntrys_eyJ{b120}_{b43}"),
    of("SENTRY_TOKEN", "sntryu_{h64}"),
    of("DT_API_TOKEN", "dt0c01.{t24}.{t64}"),
    of("POSTHOG_PERSONAL_API_KEY", "phx_{a47}"),
    of("ROLLBAR_ACCESS_TOKEN", "{h32}"),
    of("OPSGENIE_API_KEY", "{u}"),
    of("FIGMA_TOKEN", "figd_{w40}"),
    of("ASANA_ACCESS_TOKEN", "2/{d16}/{d16}:{h32}"),
    of("CLICKUP_TOKEN", "pk_{d8}_{U32}"),
    of("HUBSPOT_ACCESS_TOKEN", "pat-na1-{u}"),
    of("KLAVIYO_PRIVATE_KEY", "pk_{h34}"),
    of("TYPEFORM_TOKEN", "tfp_{a40}_{a18}"),
    of("RAPIDAPI_KEY", "{h10}msh{h15}p1{h5}jsn{h12}"),
    of("DEEPL_AUTH_KEY", "{u}:fx"),
    of("JWT", "eyJ{j30}.eyJ{j120}.{w43}"),
    of(
        "DATABASE_URL",
        "postgres://service:{a24}@db.internal:5432/app",
    ),
];

/// A fixed sequence of numbers.
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn some(&mut self, of: &[u8], count: usize) -> String {
        let most = of.len() as u64;
        (0..count)
            .map(|_| char::from(of[usize::try_from(self.next() % most).unwrap()]))
            .collect()
    }
}

const DIGITS: &[u8] = b"0123456789";
const BASE62: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

impl Vendor {
    pub(super) fn make(&self, numbers: &mut Numbers) -> String {
        let mut value = String::new();
        let mut rest = self.format;
        while let Some((before, after)) = rest.split_once('{') {
            let (part, after) = after.split_once('}').unwrap();
            value.push_str(before);
            let (kind, count) = part.split_at(1);
            let count = count.parse().unwrap_or(1);
            let text = match kind {
                "a" => numbers.some(BASE62, count),
                "l" => numbers.some(b"abcdefghijklmnopqrstuvwxyz0123456789", count),
                "U" => numbers.some(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", count),
                "h" => numbers.some(b"0123456789abcdef", count),
                "H" => numbers.some(b"0123456789ABCDEF", count),
                "d" => numbers.some(DIGITS, count),
                "w" | "j" => {
                    let all = [BASE62, b"_-"].concat();
                    // Vendors' tokens begin and end with a letter or a digit more often than not; a word must.
                    let ends = numbers.some(BASE62, 2);
                    let inner = numbers.some(&all, count.saturating_sub(2));
                    format!("{}{inner}{}", &ends[..1], &ends[1..])
                }
                "b" => numbers.some(&[BASE62, b"+/"].concat(), count),
                "t" => numbers.some(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", count),
                "z" => numbers.some(b"abcdefghijklmnopqrstuvwxyz234567", count),
                "u" => {
                    let mut hex = |n| numbers.some(b"0123456789abcdef", n);
                    format!("{}-{}-4{}-a{}-{}", hex(8), hex(4), hex(3), hex(3), hex(12))
                }
                "c" => checksum(&value),
                other => panic!("no such part: {other}"),
            };
            value.push_str(&text);
            rest = after;
        }
        value + rest
    }
}

/// The CRC32 of what stands behind the prefix, in six digits of base 62.
fn checksum(value: &str) -> String {
    let (_, body) = value.split_once('_').unwrap();
    let mut crc = u32::MAX;
    for byte in body.bytes() {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ 0xedb8_8320
            } else {
                crc >> 1
            };
        }
    }
    let mut left = !crc as usize;
    let mut digits = Vec::new();
    for _ in 0..6 {
        digits.push(BASE62[left % 62]);
        left /= 62;
    }
    digits.reverse();
    String::from_utf8(digits).unwrap()
}

/// The texts that people put a value into, by the kind of file.
pub(super) fn contexts(variable: &str, value: &str) -> Vec<(&'static str, String)> {
    let small = variable.to_lowercase();
    let mut parts = small.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    let camel = parts.fold(first, |name, part| {
        let (head, tail) = part.split_at(part.len().min(1));
        name + &head.to_uppercase() + tail
    });
    let dashed = small.replace('_', "-");
    let mut all = vec![
        ("environment", format!("{variable}={value}\n")),
        ("shell", format!("export {variable}=\"{value}\"\n")),
        (".env", format!("# local\n{variable}='{value}'\n")),
        ("JSON", format!("{{\"{camel}\": \"{value}\", \"n\": 1}}\n")),
        (
            "JSON in a text",
            format!("\"{{\\\"{small}\\\":\\\"{value}\\\"}}\"\n"),
        ),
        ("YAML", format!("env:\n  {small}: {value}\n")),
        ("quoted YAML", format!("  {dashed}: \"{value}\"\n")),
        ("TOML", format!("{small} = \"{value}\"\n")),
        ("Python", format!("{variable} = '{value}'\n")),
        (
            "Python environment",
            format!("os.environ[\"{variable}\"] = \"{value}\"\n"),
        ),
        ("JavaScript", format!("const {camel} = '{value}';\n")),
        ("JavaScript object", format!("  {camel}: '{value}',\n")),
        (
            "TypeScript",
            format!("private readonly {camel}: string = \"{value}\";\n"),
        ),
        ("Rust", format!("const {variable}: &str = \"{value}\";\n")),
        ("Go", format!("{camel} := \"{value}\"\n")),
    ];
    let fits_a_url = value
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte));
    if fits_a_url {
        all.push((
            "URL",
            format!("https://api.test.invalid/v1?{small}={value}&page=2\n"),
        ));
    }
    all
}
