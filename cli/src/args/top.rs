//! `vtprof top`.

use clap::{Args, ValueEnum};

use super::InputArgs;
use crate::focus::Focus;

#[derive(Debug, Args)]
pub struct TopArgs {
    #[command(flatten)]
    pub input: InputArgs,

    /// Only samples of one span, local root span, trace or endpoint; may be given several times,
    /// then all must hold
    #[arg(long, value_name = "span=HEX|root=HEX|trace=HEX|name=ENDPOINT")]
    pub focus: Vec<Focus>,

    /// What a row is
    #[arg(long, value_enum, default_value_t = TopBy::Function)]
    pub by: TopBy,

    /// What rows are ordered by
    #[arg(long, value_enum, default_value_t = TopOrder::SelfValue)]
    pub sort: TopOrder,

    /// What the self time of each row costs: average vCPUs while profiles were taken, and vCPU-hours a month of 730 hours;
    /// for CPU time alone
    #[arg(long)]
    pub cost: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TopBy {
    /// A function by its name, whatever its lines
    Function,
    /// A source file
    File,
    /// A package (Java, Go), crate or namespace
    Package,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TopOrder {
    /// Samples with it as the leaf
    #[value(name = "self")]
    SelfValue,
    /// Samples with it anywhere in the stack
    Total,
}
