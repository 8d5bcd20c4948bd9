"""The folder of a program and a coding agent's tools over it (`ael/natives/workspace*.py`, `code*.py`, `ael/run/preview.py`)."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

READ = "tests/workspace/test_read.py::"
WRITE = "tests/workspace/test_write.py::"
NAMES = "tests/workspace/test_names.py::"
RACE = "tests/workspace/test_race.py::"
TEXT = "tests/workspace/test_text.py::"
PREVIEW = "tests/workspace/test_preview.py::"
CODE = "tests/workspace/test_code.py::"
WORKSPACE = "ael/natives/workspace.py"
PATHS = "ael/natives/workspace_names.py"
WRITING = "ael/natives/workspace_write.py"
CODING = "ael/natives/code.py"

MUTATIONS = (
    Mutation(
        "K42",
        "the refusal of links that folders are",
        WORKSPACE,
        'getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)',
        'getattr(os, "O_DIRECTORY", 0)',
        READ + "test_no_link_is_followed_wherever_it_stands",
    ),
    Mutation(
        "K42",
        "the refusal of a link that a file becomes after it was looked at",
        WORKSPACE,
        '_PLAIN = getattr(os, "O_NOFOLLOW", 0) | ',
        "_PLAIN = ",
        RACE + "test_a_file_that_becomes_a_link_after_it_was_looked_at",
    ),
    Mutation(
        "K42",
        "the look at what a path is before it is opened",
        WORKSPACE,
        "    regular(found, path)\n    try:\n        number = os.open(",
        "    try:\n        number = os.open(",
        READ + "test_what_is_no_regular_file_is_not_even_opened",
    ),
    Mutation(
        "K42",
        "the refusal of absolute paths",
        PATHS,
        '    if path.startswith("/"):\n',
        "    if False:\n",
        NAMES + "test_a_path_that_leads_elsewhere_or_cannot_be_seen",
    ),
    Mutation(
        "K41",
        "names of secrets compared without their case",
        PATHS,
        "    return text.casefold().rstrip(",
        "    return text.rstrip(",
        NAMES + "test_what_is_kept_from_programs_by_its_name",
    ),
    Mutation(
        "K36",
        "the size of a file that is read",
        WORKSPACE,
        "        if state.st_size > limit:\n",
        "        if False:\n",
        READ + "test_a_file_that_is_too_large_is_not_read",
    ),
    Mutation(
        "K36",
        "the size of a file that says it is empty",
        WORKSPACE,
        "        if len(data) > limit:\n            raise too_large(path, len(data), limit)\n        return",
        "        return",
        READ + "test_a_file_that_says_it_is_empty_is_read_up_to_the_limit",
    ),
    Mutation(
        "K42",
        "the leave to write",
        WORKSPACE,
        "        if not self.write:\n",
        "        if False:\n",
        WRITE + "test_a_workspace_without_leave_to_write",
    ),
    Mutation(
        "K43",
        "a folder for each tenant",
        "ael/natives/files.py",
        "    if world.shared or tenant != _ALONE:\n",
        "    if False:\n",
        READ + "test_each_tenant_has_a_folder_of_its_own",
    ),
    Mutation(
        "K42",
        "the second name of a file that is added to",
        WRITING,
        "            if state.st_nlink > 1:\n",
        "            if False:\n",
        WRITE + "test_the_other_name_of_a_file_keeps_its_content",
    ),
    Mutation(
        "K40",
        "the look at a file right before it is replaced",
        WRITING,
        "                if now is None or _mark(now) != _mark(state):\n",
        "                if False:\n",
        WRITE + "test_what_somebody_else_wrote_meanwhile_stays",
    ),
    Mutation(
        "K40",
        "the turns of writers",
        WRITING,
        "        fcntl.flock(at, fcntl.LOCK_EX | fcntl.LOCK_NB)\n",
        "        pass\n",
        WRITE + "test_of_many_who_add_none_is_lost",
    ),
    Mutation(
        "K42",
        "a file beside that nobody put there",
        WRITING,
        "        with suppress(FileNotFoundError):\n            os.unlink(beside, dir_fd=at)\n        number = os.open(beside, _NEW,",
        "        number = os.open(beside, _NEW & ~os.O_EXCL & ~os.O_NOFOLLOW,",
        WRITE + "test_what_lies_in_the_place_of_the_new_content_is_not_written_through",
    ),
    Mutation(
        "K40",
        "the version that an edit was made from",
        "ael/natives/code_text.py",
        "    if version_of(data) != version:\n",
        "    if False:\n",
        TEXT + "test_what_was_not_read_or_has_changed_is_refused",
    ),
    Mutation(
        "K26",
        "the edit that was made already",
        "ael/natives/code_text.py",
        "    if before is None:\n",
        "    if True:\n",
        TEXT + "test_the_same_edit_again_is_known_for_what_it_is",
    ),
    Mutation(
        "K30",
        "the difference that a person is shown",
        "ael/run/approval.py",
        "shown, step.digest, reason, preview=seen)",
        "shown, step.digest, reason)",
        PREVIEW + "test_a_person_sees_the_difference_before_anything_is_written",
    ),
    Mutation(
        "K30",
        "what was shown when it was asked, in the journal",
        "ael/durable/decide.py",
        'str(asked.get("preview", ""))',
        '""',
        PREVIEW + "test_a_run_that_waits_shows_the_difference_to_whoever_looks",
    ),
    Mutation(
        "K30",
        "the settings that git takes from nothing an agent writes",
        CODING,
        "environment={**_GIT, **binding.environment},",
        "environment=binding.environment,",
        CODE + "test_no_file_that_an_agent_writes_is_a_setting_of_git",
    ),
    Mutation(
        "K30",
        "version control kept from tests that an agent writes",
        CODING,
        "kept=(self._world.root, self._world.folder, *kept),",
        "kept=(self._world.root, self._world.folder),",
        CODE + "test_tests_change_nothing_of_version_control",
    ),
    Mutation(
        "K43",
        "the folder of its own that the tenant without a name has beside others",
        "ael/natives/files.py",
        "    if world.shared or tenant != _ALONE:",
        "    if tenant != _ALONE:",
        READ + "test_beside_others_the_tenant_without_a_name_has_nothing_of_theirs",
    ),
    Mutation(
        "K41",
        "the address of a database, which the driver quotes where it cannot be read",
        "ael/natives/knowledge_postgres.py",
        "        except psycopg.ProgrammingError:",
        "        except psycopg.NotSupportedError:",
        "tests/connectors/test_knowledge_base.py::test_an_address_that_cannot_be_read_is_not_told",
    ),
    Mutation(
        "K42",
        "the addresses of IPv6 that nobody has been given",
        "ael/net/address.py",
        "        elif not _public(part) and not by_host:",
        "        elif not part.is_global and not by_host:",
        "tests/net/test_address.py::test_an_address_that_is_not_public_is_refused",
    ),
)
