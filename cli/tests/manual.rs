//! Completions and the manual page know every command.

mod support;

use support::{run, stdout};

const COMMANDS: [&str; 5] = ["top", "spans", "check", "attach", "run"];

#[test]
fn completions_of_each_shell_name_every_command_and_option() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = stdout(&run(["completions", shell]));
        for word in COMMANDS.iter().chain(&["span-label", "cost", "since"]) {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(run(["completions", "cmd"]).status.code(), Some(2));
}

#[test]
fn the_manual_page_has_a_section_a_command() {
    let page = stdout(&run(["man"]));
    assert!(page.contains(".TH vtprof 1"), "{page}");
    for command in COMMANDS {
        let head = format!(".SH \"VTPROF {}\"\n", command.to_uppercase());
        assert_eq!(page.matches(&head).count(), 1, "{command}");
    }
    assert!(page.contains("span\\-label"), "{page}");
}
