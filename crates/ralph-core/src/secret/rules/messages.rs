//! Chat, mail, telephone and social networks.

use super::{SecretRule, behind, marked, named, token};

pub(super) const RULES: &[SecretRule] = &[
    token(
        "Slack token",
        &[
            "xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-",
        ],
        "<word>{20,}",
    ),
    token(
        "Slack rotating token",
        &["xoxe.xox", "xoxe-1-"],
        "[bp]?-?[0-9A-Za-z]?-?<alnum>{100,}",
    ),
    token(
        "Slack app token",
        &["xapp-"],
        "[0-9]-<upper>{9,12}-[0-9]{10,14}-<hex>{60,70}",
    ),
    behind(
        "Slack webhook",
        &[
            "hooks.slack.com/services/",
            "hooks.slack.com/workflows/",
            "hooks.slack.com/triggers/",
        ],
        "([A-Z0-9]{8,}/[A-Z0-9]{8,}/<alnum>{16,}|[A-Z0-9]{8,}/[A-Z0-9]{8,}/[0-9]+/<alnum>{16,}|[A-Z0-9]{8,}/[0-9]+/<hex>{32})",
    ),
    behind(
        "Discord webhook",
        &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        "[0-9]{17,20}/(<word>{60,80})",
    ),
    named(
        "Discord token",
        &["discord"],
        r"[MNO]<word>{23,27}\.<word>{6}\.<word>{27,38}",
    ),
    named("Discord client secret", &["discord"], "<word>{32}").entropy(4.0),
    marked("Telegram bot token", &[":AA"], 8, "<word>{33}"),
    behind(
        "Microsoft Teams webhook",
        &["webhook.office.com/webhookb2/"],
        "<uuid>@<uuid>/IncomingWebhook/(<hex>{32}/<uuid>)",
    ),
    behind(
        "Google Chat webhook",
        &["chat.googleapis.com/v1/spaces/"],
        r"<word>{8,}/messages\?key=<word>{30,}&(?:amp;)?token=([A-Za-z0-9_%-]{30,})",
    ),
    behind(
        "Zapier webhook",
        &["hooks.zapier.com/hooks/catch/"],
        "[0-9]{4,10}/(<lower>{6,10})",
    )
    .resembles(),
    behind(
        "IFTTT key",
        &["maker.ifttt.com/trigger/"],
        "[A-Za-z0-9_{}-]{1,60}/(?:json/)?with/key/(<word>{20,})",
    ),
    named("Mattermost token", &["mattermost"], "<lower>{26}").entropy(3.5),
    named(
        "LINE token",
        &["line_channel", "line_access", "linechannel"],
        "<base64>{160,}={0,2}",
    )
    .entropy(4.0),
    token("SendGrid key", &["SG."], r"<word>{22}\.<word>{43}"),
    token("Mailgun key", &["key-"], "<hex>{32}"),
    named(
        "Mailgun private key",
        &["mailgun"],
        "<hex>{32}-<hex>{8}-<hex>{8}",
    ),
    marked("Mailchimp key", &["-us"], 32, "[0-9]{1,2}").entropy(3.0),
    token("Mandrill key", &["md-"], "<word>{22}").entropy(3.8),
    token("Brevo key", &["xkeysib-"], "<hex>{64}-<alnum>{16}"),
    token("Brevo SMTP key", &["xsmtpsib-"], "<hex>{64}-<alnum>{16}"),
    token("Resend key", &["re_"], "<alnum>{8}_<alnum>{24}"),
    named("Postmark token", &["postmark"], "<uuid>"),
    named("Mailjet secret", &["mailjet", "mj_api"], "<hex>{32}"),
    named("SparkPost key", &["sparkpost"], "<hex>{40}"),
    token("MailerSend token", &["mlsn."], "<hex>{64}"),
    named("Loops key", &["loops"], "<hex>{32}"),
    token("Twilio key", &["SK"], "<hex>{32}"),
    named("Twilio auth token", &["twilio"], "<hex>{32}"),
    named("Vonage secret", &["vonage", "nexmo"], "<alnum>{16}").entropy(3.2),
    named("MessageBird key", &["messagebird"], "<alnum>{25}").entropy(3.5),
    named("Plivo token", &["plivo"], "<alnum>{38,40}|[A-Za-z0-9]{53}=").entropy(3.5),
    token("Telnyx key", &["KEY01"], "[0-9A-F]{30}_<alnum>{22}"),
    named("Sinch token", &["sinch"], "<hex>{32}"),
    named(
        "Stream secret",
        &["getstream", "stream_api", "stream_secret"],
        "<lower>{64}",
    )
    .entropy(3.5),
    named("Pusher secret", &["pusher"], "<hex>{20}"),
    named("Ably key", &["ably"], r"<word>{6}\.<word>{6}:<word>{43}"),
    token("PubNub secret", &["sec-c-"], "<base64>{48,56}={0,2}|<uuid>"),
    token(
        "Facebook token",
        &["EAAC", "EAAB", "EAAD", "EAAG", "EAAJ", "EAAM"],
        "<alnum>{90,}",
    ),
    named(
        "Facebook secret",
        &["facebook", "fb_app", "fb_"],
        "<hex>{32}",
    ),
    token("Instagram token", &["IGQV", "IGQW", "IGAA"], "<word>{100,}"),
    token(
        "Twitter bearer token",
        &["AAAAAAAAAAAAAAAAAAAAA"],
        "[A-Za-z0-9%]{60,}",
    )
    .entropy(3.5),
    named("Twitter secret", &["twitter"], "<alnum>{50}|<alnum>{45}").entropy(4.0),
    named(
        "LinkedIn secret",
        &["linkedin"],
        r"WPL_AP1\.<alnum>{16}\.<base64>{6}==|<alnum>{16}",
    )
    .entropy(3.2),
    named("Twitch secret", &["twitch"], "<lower>{30}").entropy(3.5),
    named("Spotify secret", &["spotify"], "<hex>{32}"),
    named("Reddit secret", &["reddit"], "<word>{27,30}").entropy(3.8),
    token("Pinterest token", &["pina_"], "<alnum>{32,}"),
    named("Vimeo token", &["vimeo"], "<hex>{32}"),
    named("Flickr secret", &["flickr"], "<hex>{16}"),
    named("Bitly token", &["bitly"], "<hex>{40}"),
    named(
        "Matrix access token",
        &["matrix"],
        "(?:syt|mct)_<alnum>{8,}_<alnum>{20}_<alnum>{6}",
    ),
];
