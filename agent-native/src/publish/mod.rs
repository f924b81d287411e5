//! What profilers outside of the process may read (`publish_context=on`): which span each thread is in, and whose process
//! this is. OTEP 4947 ("Thread Context", open-telemetry/opentelemetry-specification as of 17 July 2026) and OTEP 4719
//! ("Process Context", as of 7 April 2026).
//!
//! | module | noun |
//! |---|---|
//! | [`variable`] | the thread-local variable by which others find a thread's record |
//! | [`threads`] | which record that is: the one of the Java thread that runs |
//! | [`process`] | the mapping by which others find what is said of the process |
//! | [`resource`] | what that is |

pub mod process;
pub mod resource;
pub mod threads;
pub mod variable;

use crate::jvm::jni::Jni;
use crate::log;
use process::ProcessError;

/// Publishes what is said of the process; whether contexts of threads are to be published. Before any are.
pub fn begin(service: &str, jni: Jni) -> bool {
    if !variable::is_own() {
        log::warn(
            "publish_context=on publishes nothing: another library of this process has otel_thread_ctx_v1; leave one of the two out",
        );
        return false;
    }
    let Err(error) = process::publish(&resource::payload(service, jni)) else {
        return true;
    };
    let (goes_on, text) = without_process(&error);
    log::warn(&text);
    goes_on
}

/// Whether contexts of threads are published where that of the process is not, and what is said then.
fn without_process(error: &ProcessError) -> (bool, String) {
    match error {
        // Readers would look for the threads of the other as it says, and find those of the agent.
        ProcessError::Twice => (
            false,
            format!("publish_context=on publishes nothing: {error}"),
        ),
        ProcessError::TooLong(_) | ProcessError::System(..) | ProcessError::Nameless(_) => (
            true,
            format!(
                "publish_context=on: no process context, without which readers may pass over those of threads: {error}"
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beside_another_publisher_nothing_is_published_and_one_line_says_so() {
        let (goes_on, text) = without_process(&ProcessError::Twice);
        assert!(!goes_on);
        assert!(text.contains("publishes nothing"), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        let (goes_on, text) = without_process(&ProcessError::TooLong(70_000));
        assert!(goes_on);
        assert!(text.contains("70000"), "{text}");
    }
}
