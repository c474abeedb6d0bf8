//! Clouds, hosting and networks.

use super::{SecretRule, behind, marked, named, token};

pub(super) const RULES: &[SecretRule] = &[
    token(
        "AWS access key id",
        &["AKIA", "ASIA", "ABIA", "ACCA"],
        "[0-9A-Z]{16}",
    ),
    named(
        "AWS secret key",
        &[
            "aws_secret",
            "awssecret",
            "secretaccess",
            "secret_access",
            "aws-secret",
            "aws.secret",
        ],
        "<base64>{40}",
    )
    .entropy(3.8),
    named(
        "AWS session token",
        &[
            "aws_session",
            "aws-session",
            "awssession",
            "sessiontoken",
            "session_token",
            "security_token",
        ],
        "<base64>{100,}={0,2}",
    )
    .entropy(4.0),
    token("AWS Bedrock key", &["ABSK"], "<base64>{100,}={0,2}"),
    token(
        "AWS short-term Bedrock key",
        &["bedrock-api-key-"],
        "<base64>{100,}={0,2}",
    ),
    token("AWS marketplace token", &["amzn.mws."], "<uuid>"),
    token("Google OAuth client secret", &["GOCSPX-"], "<word>{28}"),
    token("Google OAuth token", &["ya29."], "<word>{30,}"),
    token("Google refresh token", &["1//0"], "<word>{40,}"),
    marked("Firebase messaging key", &[":APA91b"], 11, "<word>{130,}"),
    behind(
        "Azure storage key",
        &["AccountKey="],
        "(<base64>{86}==|<base64>{40,90}={0,2})",
    )
    .entropy(3.5),
    behind(
        "Azure shared access key",
        &["SharedAccessKey=", "SharedSecretValue="],
        "(<base64>{43}=)",
    )
    .entropy(3.5),
    behind(
        "Azure shared access signature",
        &["&sig=", "?sig="],
        "([A-Za-z0-9%]{43,60}(?:%3D|=))",
    )
    .entropy(3.5),
    marked(
        "Azure AD client secret",
        &["7Q~", "8Q~"],
        3,
        "[A-Za-z0-9_.~-]{31,34}",
    )
    .entropy(3.5),
    marked(
        "Azure container registry key",
        &["+ACR"],
        42,
        "[A-D]<base64>{5}",
    ),
    marked("Azure Functions key", &["AzFu"], 44, "<word>{5}[AQgw]=="),
    marked("Azure Search key", &["AzSe"], 42, "[A-D]<alnum>{5}"),
    marked("Azure Cosmos DB key", &["ACDb"], 76, "<base64>{6}=="),
    marked(
        "Azure identifiable storage key",
        &["+ASt"],
        76,
        "<base64>{6}==",
    ),
    marked("Azure Event Hubs key", &["+AEh"], 33, "[A-D]<base64>{5}="),
    marked("Azure Service Bus key", &["+ASb"], 33, "[A-D]<base64>{5}="),
    marked("Azure Batch key", &["+ABa"], 76, "<base64>{6}=="),
    marked("Azure IoT key", &["AIoT"], 33, "[A-D]<base64>{5}="),
    marked("Azure Redis key", &["AzCa"], 33, "[A-P]<base64>{5}="),
    named(
        "Azure subscription key",
        &["ocp-apim", "azure_", "cognitive"],
        "<hex>{32}",
    ),
    token(
        "DigitalOcean token",
        &["dop_v1_", "doo_v1_", "dor_v1_"],
        "<hex>{64}",
    ),
    named("Linode token", &["linode"], "<hex>{64}"),
    named("Hetzner token", &["hetzner", "hcloud"], "<alnum>{64}").entropy(4.0),
    named("Vultr key", &["vultr"], "<upper>{36}").entropy(3.5),
    named(
        "Scaleway secret key",
        &["scw_", "scw-", "scwsecret", "scaleway"],
        "<uuid>",
    ),
    named("OVH key", &["ovh"], "<alnum>{32}").entropy(3.5),
    token("Alibaba Cloud key id", &["LTAI"], "<alnum>{12,24}").entropy(3.0),
    named(
        "Alibaba Cloud secret",
        &["alibaba", "aliyun", "alicloud"],
        "<alnum>{30}",
    )
    .entropy(3.5),
    token("Tencent Cloud key id", &["AKID"], "<alnum>{32}"),
    named(
        "Tencent Cloud secret",
        &["tencent", "qcloud"],
        "<alnum>{32}",
    )
    .entropy(3.5),
    token("Yandex Cloud key", &["AQVN"], "<word>{35,38}"),
    token(
        "Yandex Cloud token",
        &["t1."],
        r"<word>{8,}=*\.<word>{60,}=*",
    ),
    named("IBM Cloud key", &["ibm", "bluemix", "watson"], "<word>{44}").entropy(4.0),
    named("Cloudflare key", &["cloudflare", "cf_api"], "<hex>{37}"),
    named("Cloudflare token", &["cloudflare", "cf_api"], "<word>{40}").entropy(3.8),
    token("Cloudflare origin key", &["v1.0-"], "<hex>{24}-<hex>{146}"),
    token(
        "Cloudflare tunnel token",
        &["eyJhIjoi"],
        "<base64>{100,}={0,2}",
    ),
    named("Fastly token", &["fastly"], "<word>{32}").entropy(3.8),
    named(
        "Akamai secret",
        &["akamai", "edgerc", "client_secret"],
        "<base64>{43}=",
    )
    .entropy(4.0),
    token("Akamai access token", &["akab-"], "<lower>{16}-<lower>{16}"),
    token("Heroku token", &["HRKU-"], "<word>{58,62}|<uuid>"),
    named("Heroku key", &["heroku"], "<uuid>"),
    token("Fly.io token", &["fo1_"], "<word>{43}"),
    token(
        "Fly.io macaroon",
        &["fm1a_", "fm1r_", "fm2_"],
        "[A-Za-z0-9+/_-]{100,}={0,2}",
    ),
    token("Render key", &["rnd_"], "<alnum>{28,36}"),
    named("Railway token", &["railway"], "<uuid>"),
    named("Vercel token", &["vercel"], "<alnum>{24}").entropy(3.5),
    token(
        "Netlify token",
        &["nfp_", "nfc_", "nfo_", "nfb_", "nfu_"],
        "<word>{36}",
    ),
    named("Netlify legacy token", &["netlify"], "<word>{43}").entropy(3.8),
    named("Northflank token", &["northflank"], "nf-eyJ<word>{40,}"),
    named("GoDaddy secret", &["godaddy"], "<alnum>{22}").entropy(3.5),
    named("Namecheap key", &["namecheap"], "<hex>{32}"),
    named(
        "DNSimple token",
        &["dnsimple"],
        "dnsimple_[au]_<alnum>{30,40}|<alnum>{32}",
    )
    .entropy(3.5),
    named(
        "Equinix Metal token",
        &["packet_auth", "equinix", "metal_auth"],
        "<alnum>{32}",
    )
    .entropy(3.5),
    token(
        "Defined Networking key",
        &["dnkey-"],
        "[a-z0-9=_-]{26}-[a-z0-9=_-]{52}",
    ),
    named("ZeroTier token", &["zerotier"], "<alnum>{32}").entropy(3.5),
    token("NetBird token", &["nbp_"], "<alnum>{36}"),
    token(
        "Mapbox secret token",
        &["sk.eyJ1Ijoi"],
        r"<word>{40,}\.<word>{22}",
    ),
    named("Bunny.net key", &["bunny"], "<uuid>(?:<uuid>)?"),
];
