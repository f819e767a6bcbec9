"""What a command of another distribution may take from the command line.

Public: options that evalkit's commands share, the completion of names, and what keeps
stdout for data. A command that uses them looks and behaves as evalkit's own do. It is a
click command, and its entry point is of the group `evalkit.commands`. Importing this
module imports click and nothing heavy.
"""

from evalkit_cli.options.completion import complete_names, complete_runs
from evalkit_cli.options.runs import (
    folder_option,
    format_option,
    json_option,
    quiet_option,
    quiet_with,
)
from evalkit_cli.printing.progress_bar import watched
from evalkit_cli.printing.streams import (
    echo,
    echo_csv,
    echo_json,
    echo_lines,
    plugin_output_to_stderr,
)
from evalkit_cli.printing.tables import draw

__all__ = [
    "complete_names",
    "complete_runs",
    "draw",
    "echo",
    "echo_csv",
    "echo_json",
    "echo_lines",
    "folder_option",
    "format_option",
    "json_option",
    "plugin_output_to_stderr",
    "quiet_option",
    "quiet_with",
    "watched",
]
