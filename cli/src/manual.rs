//! The manual page and the completions, from the same definitions that read the command line.

use std::io::Write;

use anyhow::Result;
use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::args::Cli;

/// Writes the completions for a shell.
pub fn completions(shell: Shell, out: &mut impl Write) -> Result<()> {
    // It writes to what cannot fail, or panics: a closed pipe is no reason to.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "vtprof", &mut script);
    out.write_all(&script)?;
    Ok(())
}

/// Writes one manual page: the program, then each command under a head of its own.
pub fn man(out: &mut impl Write) -> Result<()> {
    let mut cli = Cli::command();
    cli.build();
    let page = Man::new(cli.clone());
    page.render_title(out)?;
    page.render_name_section(out)?;
    page.render_synopsis_section(out)?;
    page.render_subcommands_section(out)?;
    for command in cli
        .get_subcommands()
        .filter(|command| command.get_name() != "help")
    {
        section(command, out)?;
    }
    Ok(())
}

fn section(command: &Command, out: &mut impl Write) -> Result<()> {
    let page = Man::new(command.clone());
    writeln!(out, ".SH \"VTPROF {}\"", command.get_name().to_uppercase())?;
    // Heads of a command stand below its own.
    let mut body = Vec::new();
    page.render_synopsis_section(&mut body)?;
    page.render_description_section(&mut body)?;
    page.render_options_section(&mut body)?;
    let body = String::from_utf8(body)?.replace(".SH ", ".SS ");
    out.write_all(body.as_bytes())?;
    Ok(())
}
