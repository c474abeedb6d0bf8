//! The package in the real Pi, against the scripted model.

mod asking;
mod delegating;
mod failing;
mod hooks;
mod journal;
mod looping;
mod modes;
mod rpc;
mod running;
mod scene;
mod stopping;
mod surviving;

use rpc::PiRpc;
use scene::PiScene;
