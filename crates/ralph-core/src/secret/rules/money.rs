//! Payments, shops and shipping.

use super::{SecretRule, named, token};

pub(super) const RULES: &[SecretRule] = &[
    token("Stripe live key", &["sk_live_", "rk_live_"], "<alnum>{20,}"),
    token("Stripe test key", &["sk_test_", "rk_test_"], "<alnum>{20,}")
        .entropy(3.5)
        .resembles(),
    token(
        "webhook signing secret",
        &["whsec_"],
        "[A-Za-z0-9+/]{32,}={0,2}",
    ),
    token("Square token", &["EAAA"], "<word>{60}"),
    token("Square personal token", &["sq0atp-"], "<word>{22}"),
    token("Square secret", &["sq0csp-"], "<word>{43}"),
    token(
        "Braintree token",
        &["access_token$production$", "access_token$sandbox$"],
        r"<lower>{16}\$<hex>{32}",
    ),
    named("Braintree private key", &["braintree", "bt_"], "<hex>{32}"),
    named("PayPal secret", &["paypal"], "E<word>{79}"),
    token(
        "Plaid token",
        &[
            "access-production-",
            "access-development-",
            "access-sandbox-",
        ],
        "<uuid>",
    ),
    named("Plaid secret", &["plaid"], "<hex>{30}"),
    token("Razorpay key", &["rzp_live_", "rzp_test_"], "<alnum>{14}")
        .entropy(3.0)
        .resembles(),
    token(
        "Flutterwave secret key",
        &["FLWSECK-", "FLWSECK_TEST-"],
        "<hex>{32}(?:-X)?",
    ),
    token("Flutterwave encryption key", &["FLWSECK_TEST"], "<hex>{12}"),
    token("GoCardless token", &["live_", "sandbox_"], "<word>{40}").entropy(4.0),
    token("Lob key", &["live_", "test_"], "<hex>{35}"),
    token("EasyPost key", &["EZAK", "EZTK"], "<alnum>{54}"),
    token(
        "Shippo token",
        &["shippo_live_", "shippo_test_"],
        "<hex>{40}",
    ),
    token(
        "Duffel token",
        &["duffel_live_", "duffel_test_"],
        "<word>{43}",
    ),
    token(
        "Shopify token",
        &["shpat_", "shpca_", "shppa_", "shptka_"],
        "<hex>{32}",
    ),
    token("Shopify secret", &["shpss_"], "<hex>{32}"),
    token(
        "Adyen key",
        &["AQE"],
        "<base64>{90,}={0,2}(?:-<base64>{20,}=*-<word>{6,20})?",
    )
    .entropy(4.5),
    named("Mollie key", &["mollie"], "(?:live|test)_<alnum>{30}"),
    named(
        "Coinbase secret",
        &["coinbase"],
        "<alnum>{64}|<base64>{86}==",
    )
    .entropy(3.8),
    named("Binance secret", &["binance"], "<alnum>{64}").entropy(4.0),
    named("Kraken secret", &["kraken"], "<base64>{86}==").entropy(4.0),
    named("Etherscan key", &["etherscan"], "<upper>{34}").entropy(3.5),
    named("Alchemy key", &["alchemy"], "<word>{32}").entropy(3.8),
    named("Infura key", &["infura"], "<hex>{32}"),
    named(
        "Ethereum private key",
        &["eth_", "ethereum", "wallet", "deployer"],
        "(?:0x)?<hex>{64}",
    ),
    named("Wise token", &["transferwise", "wise_"], "<uuid>"),
    token(
        "Paddle key",
        &["pdl_live_apikey_", "pdl_sdbx_apikey_"],
        "<lower>{26}_<alnum>{22}_<alnum>{3}",
    ),
    named("Recurly key", &["recurly"], "<hex>{32}"),
    named(
        "Chargebee key",
        &["chargebee"],
        "(?:live|test)_<alnum>{32,}",
    ),
    named("Xero secret", &["xero"], "<word>{48}").entropy(4.0),
    named(
        "QuickBooks secret",
        &["quickbooks", "intuit"],
        "<alnum>{40}",
    )
    .entropy(4.0),
    named("Polygon.io key", &["polygon_"], "<word>{32}").entropy(4.0),
    named("Finnhub token", &["finnhub"], "<lower>{20,40}").entropy(3.2),
    named("Alpaca secret", &["alpaca", "apca"], "<alnum>{40}").entropy(4.0),
];
