"""Which tests are slow: `make test` leaves them to `make test-all`. `tests/conftest.py` marks them.

`make test` is to end within 4 minutes on 2 cores and still cover every module, law and journey once. So of a law that
is tested on several models, sizes or options, the quick suite keeps one or two; what is dear as a whole (a browser,
Sphinx, torchrun, training in the course) is slow as a whole. A pattern is a regular expression for the end of a test's
id; a test holds that each matches something.
"""

import re

PATTERNS = (
    # The course's pages that train, and the site.
    r"test_learn\.py::test_a_page_prints_what_it_shows\[(07|09|10|12)-.*",
    r"test_learn\.py::test_the_site_.*",
    # Laws on every model: the quick suite keeps the model of today, the others follow.
    r"decode/test_options\.py::.*\[(post|pre|marian|learned)\b.*",
    r"decode/test_options\.py::test_an_option_is_what_the_plain_search_does_with_it\[today-1-{'.*",
    r"decode/test_cache\.py::test_a_state_goes_on_as_its_tokens_say_whatever_others_do\[(post|pre|marian)-.*",
    r"decode/test_cache\.py::test_a_state_goes_on_as_its_tokens_say_whatever_others_do\[today-float(32|64)-[12]-.*",
    # Of the other architectures one sequence of states, in float64.
    r"decode/test_cache\.py::test_a_state_goes_on_as_.*\[(?!today).*-(float32-\d-.*|float64-([12]-.*|0-n.*))\]",
    r"decode/test_sampling\.py::.*\[(post|pre|marian)\b.*",
    r"equivalence/test_batching\.py::.*\[(post|pre|deep encoder|deep decoder)\b.*",
    # Objectives: the quick suite keeps a Transformer and a recurrent network.
    r"training/objective/test_risk\.py::test_an_update_in_parts_is_one_batch\[(?!today|rnn general).*",
    r"training/objective/test_dual\.py::test_the_loss_is_both_likelihoods_and_.*\[(?!transformer|rnn general).*",
    r"cli/.*test_objectives\.py::test_risk_goes_on_from_a_trained_model_and_resumes_bit_for_bit\[reinforce\]",
    r"inspection/.*\[(pre|marian|learned)\b.*",
    r"equivalence/test_languages\.py::test_exported_is_.*\[(?!{'beam': (1, 'n_best': 1|4|4, 'shortlist': True)}).*",
    # Every preset's export, and other searches: the quick suite keeps a toy's, greedy.
    r"equivalence/test_export\.py::test_every_preset_is_exported_as_it_is.*",
    r"equivalence/test_export\.py::test_what_is_exported_finds_what_the_reference_finds\[\{'(exact|beam': [45]).*",
    # Both engines: the quick suite keeps one set of options for each key, without a prefix.
    r"equivalence/test_parity_options\.py::test_both_engines_find_the_same\[(?!.*-0-whole|(min_l|beam).*-0-prefixed).*",
    r"equivalence/test_parity_options\.py::test_both_engines_find_the_same_under_several_keys\[[2-5]\]",
    r"equivalence/test_parity_options\.py::test_both_engines_find_the_same_with_a_trained_model.*",
    r"equivalence/test_parity_options\.py::test_an_export_that_forgets_a_rule_is_not_verified.*",
    r"equivalence/test_parity_options\.py::test_with_a_shortlist_a_sentence_is_the_same_in_any_batch.*torch.*",
    r"equivalence/test_search\.py::test_(a_s|the_l|no_h|a_l).*\[(post|pre|marian|learned|rnn (a|c|s)).*",
    r"equivalence/test_search\.py::test_a_sentence_translates_the_same_in_any_batch\[((moe|convs2s|rnn|bytenet).*-4|moe-1)\]",
    r"equivalence/test_parity_options\.py::test_a_prefix_after_which_the_translation_ends_is_found",
    r"decode/test_fusion\.py::test_a_wide_beam_finds_.*\[(?!0\.3-0\.6).*",
    r"decode/test_fusion\.py::test_with_a_language_model_too_.*\[(?!transformer-4).*",
    r"decode/test_options\.py::test_an_ensemble_averages_probabilities\[3\]",
    r"equivalence/test_search\.py::test_a_wide_beam_is_exhaustive_search_on_a_vocabulary_of_four_words\[[12].*",
    # Against enumeration: the quick suite keeps four random models.
    r"control/glossary/test_phrases\.py::.*\[([4-9]|1\d)\]",
    # Packages of toys are in the quick suite.
    r"importing/opennmt/test_argos\.py::test_a_bundled_model_as_a_package_translates_as_before",
    # Resumed equals uninterrupted is in cli/test_train.py and equivalence/test_resume.py, in the quick suite.
    r"equivalence/test_resume\.py::test_so_does_a_run_of_another_architecture.*",
    r"equivalence/test_resume\.py::test_a_run_in_parts_ends_with_the_bits_of_a_run_in_one\[\[(8|4, 8)\].*",
    r"cli/.*test_(extend|replay)\.py::test_.*_resumes?_bit_for_bit.*",
    r"cli/.*test_freeze_and_pull\.py::test_frozen_weights_stay_and_have_no_optimizer_state\[(?!\[\"encoder\"\]).*",
    # Comparisons that train more than one system again.
    r"cli/.*test_compare_runs\.py::test_(what_auto_chooses|a_run_with_more_than_the_budget)_.*",
    # A server as a process, and a line of many sentences, each searched alone.
    r"cli/.*test_serve\.py::test_it_serves_and_on_sigterm_answers_what_it_accepted",
    r"serve/native/test_native\.py::test_warnings_are_those_of_the_translation",
    # torchrun.
    r"equivalence/test_processes\.py::test_(a_run_saved|two_processes_(train|balance)|after_a_killed|a_slow_process|a_full_disk|when_memory).*",
    r"equivalence/test_processes\.py::test_a_loss_that_is_no_number_in_one_process_names_it",
    r"journey/test_torchrun\.py::(?!test_the_files_that_start_it).*",
    # The demo whole: what it has trained in 3 seconds translates to the longest length, hundreds of times.
    r"journey/test_demo\.py::test_the_demo_trains.*",
    # A browser: the quick suite opens the page once.
    r"journey/test_look\.py::(?!test_printed_it_has_every_view).*",
    # Checkpoints over a training: the quick suite keeps what their weights say.
    r"inspection/test_checkpoints\.py::test_(a_gap|its_own_pieces|a_damaged)_.*",
    # The quick suite keeps an adapter's run with a moving average, in float32.
    r"cli/.*test_lora\.py::test_it_resumes_exactly_and_needs_the_same_base\[more1\]",
    # Language tokens in both engines are in equivalence/test_languages.py, kept in the quick suite.
    r"cli/.*test_languages\.py::test_its_export_is_verified_with_both_pairs_and_translates_both_ways",
    # A killed translation of a document is continued in tests/workflows/test_documents.py, in the quick suite.
    r"cli/.*test_translate_files\.py::test_an_interrupted_translation_is_continued_to_the_same_bytes.*",
    # Processes of their own.
    r"system/test_files\.py::test_base_install_needs_no_posix_module",
    r"system/test_processes\.py::test_process_settings_stay_when_a_torch_bundle_is_loaded_and_used",
    r"cli/.*test_translate_on_ray\.py::test_without_the_extra_it_says_how_to_get_it",
    r"cli/.*test_main\.py::test_a_full_disk_under_stdout_is_told_in_a_line\[translate\]",
    r"journey/test_kill\.py::test_a_run_killed_twice_while_it_writes_ends_with_the_bytes_of_one_that_was_not",
    r"cli/.*test_main\.py::test_data_and_talk_are_utf8_whatever_the_terminal_says\[(?!plain-cp949).*",
    r"cli/.*test_train\.py::test_a_stopped_run_goes_on_to_the_very_same_weights\[in update (3|6).*",
    r"cli/.*test_bit_flips\.py::test_whatever_is_damaged.*\[(?!\d\]|1\d\]).*",
    r"cli/.*test_examples\.py::test_finetune_imported",
    r"importing/files/test_hub\.py::test_the_library_.*",
    r"cli/.*test_bit_flips\.py::test_the_state_decides.*",
    r"cli/.*test_damage\.py::test_a_damaged_file_of_the_run_is_named_and_restored.*\[(?!None|flip).*",
    r"cli/.*test_distill\.py::test_interrupted_and_resumed_equals_uninterrupted\[(0|400)\]",
    r"training/update/test_precision\.py::test_on_a_lesser_processor_.*",
    # Confidence and robustness once more, in other ways.
    r"cli/.*test_quality\.py::test_(learned_again|better_translations|the_suite_is_the_same|training_measures_both).*",
    r"cli/.*test_init_from\.py::test_a_bundled_model_is_copied_with_weights_that_its_int8_follows",
    r"cli/.*test_distill\.py::test_(peoples_pairs_may_be_kept|every_corpus_has_its_own_file).*",
    # A cluster.
    r"data/make/test_clean\.py::test_a_local_cluster.*",
    r"cli/.*test_translate_on_ray\.py::test_on_a_cluster_.*",
    r"serve/replicas/test_replicas\.py::test_(a_killed|on_sigterm|when_their|ctrl_c|one_that)_.*",
    r"serve/test_on_ray\.py::test_(one_state|a_killed|on_sigterm)_.*",
    # Long texts and long trainings.
    r"cli/.*test_estimate\.py::test_what_a_run_chose_is_reported_stored_and_kept",
    r"cli/.*test_translate_in_the_long_run\.py::test_a_megabyte_on_a_line_is_a_line.*",
    r"test_translator_safety\.py::test_memory_does_not_grow_with_the_lines_of_a_stream",
    r"system/test_processes\.py::test_kernel_caches_forget_past_shapes",
    r"text/test_segment\.py::test_a_megabyte_on_a_line_is_cut_in_seconds\[(?!'ab\. ').*",
    r"shortlist/test_shortlist\.py::test_a_trained_model_teaches_its_dictionary",
    r"engine/test_threads\.py::.*'exact': True.*",
    r"data/corpus/test_embedded_corpus\.py::test_no_test_sentence_has_a_near_duplicate_in_train.*",
)
SLOW = re.compile("|".join(f"(?:.*/)?{pattern}" for pattern in PATTERNS))


def is_slow(test_id: str) -> bool:
    """Whether `make test` leaves this test out."""
    return SLOW.fullmatch(test_id) is not None
