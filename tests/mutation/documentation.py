"""The guide that ships (`ael guide`): what it prints is of this version, and leads to nothing that is not there."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

GUIDE = "tests/cli/test_guide.py::"

MUTATIONS = (
    Mutation(
        "C14",
        "the links of the guide that lead out of it",
        "ael/cli/guide.py",
        '    return re.sub(r"\\[([^\\]\\n]+)\\]\\((?!https?:)[^)\\s]+\\)", r"\\1", page)\n',
        "    return page\n",
        GUIDE + "test_the_guide_is_the_page_of_the_docs_without_links_that_are_not_shipped",
    ),
    Mutation(
        "C14",
        "the lines in front of a skill",
        "ael/cli/guide.py",
        '    text = (HEAD if args.skill else "") + guide()\n',
        "    text = guide()\n",
        GUIDE + "test_the_guide_as_a_skill",
    ),
    Mutation(
        "C14",
        "`--into` that goes with `--skill`",
        "ael/cli/guide.py",
        "    if args.into is not None and not args.skill:\n",
        "    if False:\n",
        GUIDE + "test_what_the_guide_does_not_take",
    ),
    Mutation(
        "C14",
        "what a new pack tells coding agents",
        "ael/cli/new.py",
        '{**files, "AGENTS.md": AGENTS}.items()',
        "files.items()",
        GUIDE + "test_a_new_pack_leads_to_the_guide",
    ),
)
