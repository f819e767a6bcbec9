"""What a command of another distribution may take from the command line.

Public: options that commands share, the completion of names, what keeps stdout for
data, and how numbers are shown. A command is a click command, and its entry point is
of the group `evalkit.commands`. Importing this module imports click and nothing heavy.
"""

from evalkit_cli.options.asking import asking_options, read_asked, refuse_given
from evalkit_cli.options.benchmarks import chosen_datasets
from evalkit_cli.options.cached import kept_by_kind
from evalkit_cli.options.choices import (
    InputFile,
    RunsFolder,
    chosen_dataset,
    data_options,
    read_filters,
    several_data_options,
)
from evalkit_cli.options.completion import complete_names, complete_runs
from evalkit_cli.options.example_changes import example_options, read_example_options
from evalkit_cli.options.local_plugins import plugin_option
from evalkit_cli.options.run_names import run_paths, since_option
from evalkit_cli.options.runs import (
    folder_option,
    format_option,
    json_option,
    quiet_option,
    quiet_with,
)
from evalkit_cli.printing.comparison_report import show_compared, show_compared_interval
from evalkit_cli.printing.drop_lines import adjusted as adjusted_drop
from evalkit_cli.printing.escapes import for_csv, for_terminal
from evalkit_cli.printing.planned_requests import print_plans
from evalkit_cli.printing.progress_bar import watched
from evalkit_cli.printing.score_cells import (
    score_label,
    show_coverage,
    show_interval,
    show_n,
    show_number,
    show_value,
)
from evalkit_cli.printing.streams import (
    echo,
    echo_csv,
    echo_json,
    echo_lines,
    plugin_output_to_stderr,
)
from evalkit_cli.printing.tables import NO_VALUE, draw, draw_with_notes
from evalkit_cli.printing.tag_tables import crossing_of

__all__ = [
    "NO_VALUE",
    "InputFile",
    "RunsFolder",
    "adjusted_drop",
    "asking_options",
    "chosen_dataset",
    "chosen_datasets",
    "complete_names",
    "complete_runs",
    "crossing_of",
    "data_options",
    "draw",
    "draw_with_notes",
    "echo",
    "echo_csv",
    "echo_json",
    "echo_lines",
    "example_options",
    "folder_option",
    "for_csv",
    "for_terminal",
    "format_option",
    "json_option",
    "kept_by_kind",
    "plugin_option",
    "plugin_output_to_stderr",
    "print_plans",
    "quiet_option",
    "quiet_with",
    "read_asked",
    "read_example_options",
    "read_filters",
    "refuse_given",
    "run_paths",
    "score_label",
    "several_data_options",
    "show_compared",
    "show_compared_interval",
    "show_coverage",
    "show_interval",
    "show_n",
    "show_number",
    "show_value",
    "since_option",
    "watched",
]
