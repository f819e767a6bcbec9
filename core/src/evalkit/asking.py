"""Asking models: another name for the package `evalkit_commands_predict`.

The distribution `evalkit-commands-predict` has it, which is part of `evalkit-suite`;
core does not require it. It is imported when one of its names is first used:

```python
from evalkit.asking import predict

predicted = predict("sample-sentiment", "constant:answer=neutral")
predicted.save("constant.jsonl")
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.base.lazy import names_of_distribution

if TYPE_CHECKING:
    from evalkit_commands_predict import Asked as Asked
    from evalkit_commands_predict import Predicted as Predicted
    from evalkit_commands_predict import Prompt as Prompt
    from evalkit_commands_predict import Replies as Replies
    from evalkit_commands_predict import Session as Session
    from evalkit_commands_predict import ask as ask
    from evalkit_commands_predict import bind_model as bind_model
    from evalkit_commands_predict import fields_of as fields_of
    from evalkit_commands_predict import fill as fill
    from evalkit_commands_predict import identity_of as identity_of
    from evalkit_commands_predict import name_in_runs as name_in_runs
    from evalkit_commands_predict import plan_requests as plan_requests
    from evalkit_commands_predict import predict as predict
else:
    __getattr__, __dir__, __all__ = names_of_distribution(
        __name__,
        "evalkit-commands-predict",
        "plugins/commands/predict",
        "Asked Predicted Prompt Replies Session ask bind_model fields_of fill "
        "identity_of name_in_runs plan_requests predict",
    )
