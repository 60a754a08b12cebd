"""Rules for editors, formatters, fixers and code rewriters."""

TABLE = """
sed gsed ssed = by editors.sed
awk gawk mawk nawk goawk = by editors.awk
ed red ex = by editors.line_editor
vi vim nvim gvim view vim.basic vim.tiny nano pico emacs emacsclient = by editors.screen_editor
micro joe mcedit = by editors.screen_editor
kak hx helix jed ne = by editors.screen_editor
code code-insiders codium cursor windsurf subl atom gedit kate zed idea pycharm charm = reads
webstorm = reads
yq = by editors.yaml_edit
sd = write 3-; unless -p --preview; takes -n -f --max-replacements --flags
fastmod codemod ruplacer rpl sad amber ambr replace = ?write cwd; unless --dry-run
  takes -d -e -m --extensions --dir
comby = ?write cwd; only -i -in-place --in-place; style single
ast-grep sg = by tools.ast_grep
gritql grit = ?write cwd; unless --dry-run
coccinelle spatch = ?write all; only --in-place -in-place
toml = sub; reads
crudini = write first if --set --del --merge; write --output; unless --get
  takes --format --existing
augtool = ?write nowhere; only -s --autosave -f
xmlformat = write all if -i --in-place
black yapf-default = write all|cwd; unless --check --diff --version -c --code
  takes -l --line-length -t --target-version --config --include --exclude --extend-exclude -W
  takes --workers
isort = write all|cwd; unless --check --check-only --diff -c -d --show-files --show-settings
  takes --profile -l --sp --settings-path --skip --src -w
ruff = sub; reads
ruff>check ruff>lint = write all|cwd if --fix --fix-only --add-noqa --unsafe-fixes
  write -o --output-file; unless --diff
  takes --select --ignore --extend-select --config --line-length --target-version --output-format
  takes --exclude
ruff>format = write all|cwd; unless --check --diff; takes --config --line-length --exclude
ruff>clean = ?delete @.ruff_cache
ruff>rule ruff>config ruff>linter ruff>version ruff>server = reads
autopep8 yapf autoflake docformatter pyment =
  write all|cwd if -i --in-place --inplace -ri -ir -w --write; unless --check --diff -d
  takes --max-line-length --style --exclude --ignore --select --wrap-summaries
unify = write all if -i --in-place
pyupgrade add-trailing-comma reorder-python-imports django-upgrade flynt ssort absolufy-imports =
  ?write all|cwd; unless --check --diff -d --dry-run; takes --target-version
2to3 futurize modernize = ?write all if -w --write; takes -f -x -j
refurb unimport pycln ufmt usort tan blue darker = ?write all|cwd; unless --check --diff -d
eradicate = ?write all|cwd; unless --check --diff -d
bowler libcst fixit = ?write cwd
pre-commit prek lefthook overcommit = sub; ?write cwd
pre-commit>autoupdate = write @.pre-commit-config.yaml -c --config
pre-commit>migrate-config = write @.pre-commit-config.yaml -c --config
pre-commit>install pre-commit>uninstall pre-commit>install-hooks pre-commit>clean = reads
pre-commit>gc = reads
pre-commit>validate-config pre-commit>sample-config pre-commit>help prek>install prek>list = reads
prettier prettierd = write all|cwd; only --write -w
  takes --parser --config --ignore-path --plugin --tab-width --print-width --log-level
eslint eslint_d tslint stylelint standard xo semistandard textlint oxlint djlint markdownlint =
  write all|cwd if --fix --reformat; write -o --output-file --output
  takes --ext -c --config --format -f --rule --ignore-path --parser --plugin --rulesdir
  takes --max-warnings --fix-type -p
markdownlint-cli2 = write all|cwd if --fix --reformat; write -o --output-file --output
  takes --ext -c --config --format -f --rule --ignore-path --parser --plugin --rulesdir
  takes --max-warnings --fix-type -p
htmlhint csslint jshint jscs sass-lint lit-analyzer depcheck madge = write --image -i
dependency-cruiser publint attw = write --image -i
knip = ?write cwd; only --fix
biome rome = sub; reads
biome>check biome>lint biome>format biome>ci = write all|cwd
  only --write --apply --fix --apply-unsafe --unsafe
  takes --config-path --diagnostic-level --max-diagnostics
biome>migrate biome>init = ?write cwd
dprint = sub; ?write cwd; takes -c --config
dprint>check dprint>output-file-paths = reads
jscodeshift = write all|cwd; unless -d --dry
  takes -t --transform --parser --extensions --ignore-pattern
sort-package-json syncpack npm-check-updates ncu = ?write cwd; unless --check list lint
npe json = ?write -f if -I; takes -e
svgo = write -o --output -i; ?write all|cwd; takes --config -p
gofmt gofumpt goimports gci golines = write all; only -w -i --write -write; style single
  takes -r -local -m
golangci-lint staticcheck revive = ?write cwd if --fix -fix; style gnu
rustfmt = write all; unless --check --print-config; takes --edition --config --config-path --emit
stylua swiftformat gdformat crystal-format nixfmt alejandra nixpkgs-fmt beautysh ktfmt pint =
  write all|cwd; unless --check --dry-run --lint --diff --test --stdin-filepath; takes --config -i
php-cs-fixer phpcbf rector ecs = ?write all|cwd; unless --dry-run --diff list
  takes --config --standard --rules
phpcs phpstan psalm phan phpmd = ?write cwd if --alter --generate-baseline
rubocop standardrb = ?write all|cwd
  only -a -A -x --auto-correct --autocorrect --autocorrect-all --auto-correct-all --fix
  only --fix-layout --auto-gen-config --regenerate-todo
  takes --only --except -c --config -f --format -o
erblint erb-format htmlbeautifier rufo = ?write all|cwd; unless --check -c
reek brakeman rails_best_practices haml-lint slim-lint = write -o --output
ktlint = ?write all|cwd; only -F --format
detekt = ?write cwd; only --auto-correct
clang-format = write all; only -i; takes --style --assume-filename -style
clang-tidy clang-apply-replacements = ?write all cwd; only --fix -fix --fix-errors -fix-errors
  takes -p
cppcheck cpplint include-what-you-use iwyu = write --output-file
fix_includes.py = ?write cwd
astyle uncrustify indent = write all; write -o; unless --dry-run
google-java-format = write all; only -i --replace -r --in-place
scalafmt = ?write all|cwd; unless --test --check --list
scalafix = ?write all|cwd; unless --check --test
ormolu fourmolu = write all; only --mode -i
stylish-haskell = write all; only -i
hindent brittany = write all
hlint = ?write all; only --refactor
elm-format purs-tidy = write all; unless --validate --stdin
mix-format = write all
perltidy = write all if -b; write -o
terraform-fmt packer-fmt = write cwd
shfmt = write all; only -w --write; takes -i -ln
sqlfluff sqlfmt sql-formatter pg_format = sub; write all|cwd if --fix -i --in-place; write -o
pgformatter = sub; write all|cwd if --fix -i --in-place; write -o
sqlfluff>fix sqlfluff>format = ?write all|cwd; takes --dialect --config
sqlfluff>lint sqlfluff>parse sqlfluff>render = reads
buf = sub; ?write cwd; takes --template --path
buf>lint buf>breaking buf>build buf>ls-files buf>curl = write -o --output
buf>format = ?write all|cwd if -w --write; unless -d --diff
taplo = sub; reads
taplo>fmt taplo>format = write all|cwd; unless --check
mdformat = write all|cwd; unless --check
markdown-toc doctoc = write all if -i; ?write all unless -i
cmake-format gersemi meson-format = write all; only -i --in-place
buildifier = write all|cwd; takes -mode -lint; style single
yamlfmt yamlfix yaml-sort = write all|cwd; unless -lint -dry --check
addlicense license-eye reuse insert-license = ?write all|cwd; unless -check --check lint
nbstripout = write all|cwd; unless --dry-run --status --is-installed -t
jupytext = ?write all; only --sync --to --update --set-formats -o; takes --to -o --set-formats
jupyter = sub; reads
jupyter>nbconvert = write all if --inplace; ?write --output|cwd unless --inplace --stdout
  takes --to --output-dir --template --ExecutePreprocessor.timeout
jupyter>lab jupyter>notebook jupyter>kernelspec jupyter>labextension = reads
nbqa = style first; runs 1-
papermill = write 2; takes -p -k
cargo-fmt = ?write cwd; unless --check
lint-staged nano-staged = ?write cwd
"""
