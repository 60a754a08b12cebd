"""Rules for package managers, build tools, test runners, interpreters and generators."""

TABLE = """
bash sh zsh dash ksh ash mksh rbash fish tcsh csh = by interpreters.shell
python python2 python3 pypy pypy3 ipython py pythonw = by interpreters.interpret
node nodejs deno bun ruby jruby perl php lua luajit Rscript R tclsh = by interpreters.interpret
osascript = by interpreters.interpret
elixir groovy julia = by interpreters.interpret
ts-node tsx irb scala swift guile racket clojure clj bb ghci runghc = by interpreters.interpret
ocaml java raku = by interpreters.interpret
coffee = by interpreters.interpret
cscript wscript mshta jshell kotlin kotlinc-jvm erl = ?unknown nowhere; unless --version -version
sbcl gawk-script = ?unknown nowhere; unless --version -version
npm cnpm tnpm = sub; unknown nowhere; cwd --prefix -C; takes -w --workspace --registry --loglevel
npm>ls npm>list npm>ll npm>la npm>view npm>info npm>show npm>outdated npm>why npm>explain = reads
npm>search npm>whoami = reads
npm>ping npm>get npm>doctor npm>help npm>bin npm>root npm>prefix npm>repo npm>docs npm>bugs = reads
npm>owner npm>team = reads
npm>access npm>token npm>login npm>logout npm>publish npm>fund npm>query npm>completion = reads
npm>cache npm>dist-tag = reads
npm>deprecate npm>unpublish npm>star npm>profile npm>hook npm>org npm>sbom npm>licenses = reads
npm>adduser npm>diff = reads
npm>install npm>i npm>ci npm>add npm>remove npm>rm npm>uninstall = ?write cwd @package.json
  ?write @package-lock.json @node_modules; unless --dry-run
npm>un npm>update npm>up npm>upgrade = ?write cwd @package.json @package-lock.json @node_modules
  unless --dry-run
npm>dedupe npm>prune npm>link npm>unlink npm>shrinkwrap = ?write cwd @package-lock.json
  ?write @node_modules; unless --dry-run
npm>install-test npm>it npm>rebuild = ?write cwd; unless --dry-run
npm>set = ?write @~/.npmrc @.npmrc
npm>install-ci-test npm>clean-install npm>create npm>init npm>innit npm>import npm>edit = ?write cwd
npm>audit = ?write cwd if fix --fix; sub
npm>audit>fix = ?write cwd @package.json @package-lock.json @node_modules
npm>audit>signatures = reads
npm>config = sub; reads
npm>config>set npm>config>delete npm>config>edit npm>config>fix = ?write @~/.npmrc @.npmrc
npm>pkg = sub; reads
npm>pkg>set npm>pkg>delete npm>pkg>fix = write @package.json
npm>version = write @package.json; ?write @package-lock.json cwd
npm>pack = ?write --pack-destination|@*.tgz; unless --dry-run
npm>run npm>run-script npm>rum = by tools.package_script
npm>test npm>t npm>start npm>stop npm>restart npm>tst = ?unknown cwd
yarn pnpm = sub; ?unknown cwd; cwd --cwd --prefix -C --dir; takes -w --workspace --filter -F
yarn>list yarn>why yarn>info yarn>outdated yarn>audit yarn>config yarn>help yarn>bin = reads
yarn>cache yarn>versions yarn>npm yarn>licenses yarn>login yarn>publish = reads
yarn>install yarn>add yarn>remove yarn>up yarn>upgrade yarn>upgrade-interactive = ?write cwd
  ?write @package.json @yarn.lock @node_modules
yarn>dedupe yarn>link yarn>unlink = ?write cwd
yarn>import yarn>set yarn>init yarn>create yarn>plugin yarn>patch yarn>patch-commit = ?write cwd
yarn>version yarn>rebuild = ?write cwd @package.json
yarn>pack = ?write -o --out -f --filename|cwd
yarn>workspaces = sub; ?unknown cwd
yarn>workspaces>list yarn>workspaces>info = reads
yarn>workspace = style first; runs 2-
yarn>run pnpm>run yarn>test yarn>start pnpm>test pnpm>start yarn>build pnpm>build = ?unknown cwd
pnpm>list pnpm>ls pnpm>ll pnpm>la pnpm>why pnpm>outdated pnpm>audit pnpm>config pnpm>help = reads
pnpm>bin pnpm>root pnpm>store pnpm>licenses pnpm>env pnpm>publish pnpm>server = reads
pnpm>install pnpm>i pnpm>add pnpm>remove pnpm>rm pnpm>uninstall pnpm>un pnpm>update = ?write cwd
  ?write @package.json @pnpm-lock.yaml @node_modules
pnpm>up pnpm>upgrade pnpm>dedupe pnpm>prune = ?write cwd @package.json @pnpm-lock.yaml
  ?write @node_modules
pnpm>link pnpm>unlink pnpm>import pnpm>init pnpm>create pnpm>patch pnpm>patch-commit = ?write cwd
pnpm>rebuild pnpm>fetch pnpm>deploy pnpm>pack = ?write cwd
bower jspm = ?write cwd
corepack = reads
node-gyp electron-builder electron-forge electron-packager pkg nexe = ?unknown cwd
create-react-app create-next-app create-vite degit tiged = ?write cwd; takes --output-dir -o
cookiecutter copier yo plop hygen cruft boilr = ?write cwd; takes --output-dir -o
django-admin = ?write cwd; sub
django-admin>check django-admin>showmigrations django-admin>diffsettings = reads
django-admin>sqlmigrate django-admin>dbshell = reads
./manage.py manage.py = ?unknown cwd
pip pip3 pip2 = sub; ?unknown cwd
pip>list pip>show pip>freeze pip>check pip>index pip>search pip>debug pip>help = reads
pip>config pip3>config = sub; reads
pip>config>set pip>config>unset pip>config>edit = ?write @~/.config/pip/pip.conf @~/.pip/pip.conf
pip3>config>set pip3>config>unset = ?write @~/.config/pip/pip.conf @~/.pip/pip.conf
pip>cache pip>hash pip>inspect pip3>list pip3>show pip3>freeze pip3>check pip3>cache = reads
pip3>index = reads
pip>install pip3>install pip>uninstall pip3>uninstall = ?unknown nowhere
  ?write -t --target --report; unless --dry-run
pip>download pip>wheel pip3>download pip3>wheel = ?write -d --dest -w --wheel-dir|cwd
pipx = sub; ?write nowhere
pipx>list pipx>environment pipx>ensurepath = reads
pip-compile pip-sync pip-tools = write -o --output-file|@requirements.txt
pipdeptree pip-licenses pip-chill = write -f --output-file --savepath
pipreqs = ?write @requirements.txt
uv = sub; ?write cwd; cwd --directory --project; takes --config-file --cache-dir --color -p --python
uv>tree uv>version uv>python uv>cache uv>self uv>help uv>auth uv>generate-shell-completion = reads
uv>audit = reads
uv>add uv>remove uv>init = ?write cwd @pyproject.toml @uv.lock @.venv; unless --dry-run
uv>lock = ?write @uv.lock cwd; unless --check --dry-run --locked
uv>sync = ?write cwd @uv.lock @.venv; unless --check --dry-run
uv>venv = ?write first|@.venv; ?write cwd; unless --dry-run
uv>export = write -o --output-file
uv>build = ?write -o --out-dir|cwd
uv>publish = reads
uv>format = ?write cwd; unless --check --diff
uv>pip = sub; ?unknown nowhere
uv>pip>list uv>pip>show uv>pip>freeze uv>pip>check uv>pip>tree = reads
uv>pip>compile = write -o --output-file
poetry pdm pipenv hatch rye pixi flit = sub; ?write cwd; cwd --directory -C --project
  takes -p --python
poetry>show poetry>check poetry>search poetry>config poetry>about poetry>list poetry>env = reads
poetry>help poetry>self poetry>cache poetry>publish poetry>source poetry>debug = reads
poetry>add poetry>remove poetry>update poetry>lock = ?write cwd @pyproject.toml @poetry.lock
  unless --dry-run
poetry>init = ?write @pyproject.toml cwd
pdm>add pdm>remove pdm>update pdm>lock = ?write cwd @pyproject.toml @pdm.lock; unless --dry-run
pipenv>install pipenv>uninstall pipenv>update pipenv>lock = ?write cwd @Pipfile @Pipfile.lock
pixi>add pixi>remove pixi>update pixi>lock = ?write cwd @pixi.toml @pixi.lock; unless --dry-run
poetry>version = write @pyproject.toml if patch minor major prepatch preminor premajor prerelease
  ?write @pyproject.toml
poetry>export = write -o --output
poetry>build pdm>build hatch>build flit>build rye>build = ?write cwd
pdm>list pdm>show pdm>info pdm>outdated pdm>search pdm>config pdm>self pdm>cache pdm>use = reads
pdm>plugin = reads
pipenv>graph pipenv>check pipenv>verify pipenv>scripts = reads
hatch>env hatch>config hatch>status hatch>python hatch>self = reads
hatch>version hatch>fmt = ?write cwd; unless --check
hatch>test = ?create cwd
rye>show rye>config rye>toolchain rye>self rye>list = reads
rye>fmt = ?write cwd; unless --check
pixi>info pixi>list pixi>tree pixi>search pixi>config pixi>self-update = reads
conda mamba micromamba = sub; ?write nowhere; takes -n -p --name --prefix -c -f --file
conda>env = sub; ?write nowhere
conda>env>export conda>export mamba>export = write -f --file; takes -n -p --name --prefix
conda>config = ?write @~/.condarc; unless --show --show-sources --get --describe --validate
conda>list conda>env>list conda>info conda>search conda>activate = reads
conda>deactivate mamba>list = reads
mamba>info mamba>search micromamba>list micromamba>info conda>doctor conda>compare = reads
conda>notices = reads
virtualenv = create all; takes -p --python
twine = reads
build pyproject-build = ?write --outdir -o|cwd
cibuildwheel tox nox invoke fab doit paver scons waf meson snakemake luigi airflow dbt kedro =
  ?unknown cwd; unless --list -l --showconfig --version --dry-run -n
pybabel = ?unknown cwd; unless --list -l --showconfig --version --dry-run -n
snakemake-lint = reads
dvc = sub; ?unknown cwd
dvc>status dvc>diff dvc>dag dvc>list dvc>metrics dvc>plots dvc>params = reads
babel pyinstaller nuitka cython cythonize mypyc = ?write cwd; write -o --out-file --output-file
maturin pex shiv briefcase py2app cxfreeze = ?write cwd; write -o --out-file --output-file
bumpversion bump2version bump-my-version = ?write cwd; unless --dry-run -n status show check
commitizen cz standard-version release-it = ?write cwd; unless --dry-run -n status show check
semantic-release changeset towncrier git-cliff = ?write cwd; unless --dry-run -n status show check
auto-changelog = ?write cwd; unless --dry-run -n status show check
cargo = sub; ?unknown cwd; takes --manifest-path --target-dir --color -Z --config -C; cwd -C
cargo>tree cargo>metadata cargo>search cargo>version cargo>info cargo>login cargo>owner = reads
cargo>pkgid cargo>locate-project cargo>read-manifest cargo>verify-project cargo>help = reads
cargo>audit cargo>deny cargo>outdated cargo>bloat cargo>udeps cargo>geiger cargo>expand = reads
cargo>yank cargo>logout cargo>config cargo>report = reads
cargo>check cargo>c cargo>test cargo>t cargo>bench cargo>nextest cargo>doc cargo>d = ?create @target
cargo>tarpaulin cargo>llvm-cov cargo>miri cargo>rustdoc = ?create @target
cargo>fmt = ?write cwd; unless --check
cargo>clippy = ?write cwd if --fix; ?create @target unless --fix
cargo>add cargo>remove cargo>rm cargo>upgrade = ?write cwd @Cargo.toml @Cargo.lock; unless --dry-run
cargo>update = ?write @Cargo.lock cwd; unless --dry-run
cargo>fix = ?write cwd @src; unless --dry-run
cargo>generate-lockfile = ?write @Cargo.lock cwd
cargo>vendor = ?write first|@vendor; ?write cwd
cargo>init cargo>insta = ?write cwd
cargo>set-version cargo>release cargo>machete cargo>sort cargo>edit = ?write cwd; unless --dry-run
cargo>generate cargo>autoinherit cargo>shear = ?write cwd; unless --dry-run
cargo>new = create all; takes --name --edition --vcs
cargo>clean = delete @target; ?delete cwd
cargo>build cargo>b cargo>run cargo>r cargo>install cargo>publish = ?unknown cwd; write --out-dir
cargo>package = ?unknown cwd; write --out-dir
cargo>watch = ?unknown cwd
rustup = reads
rustc = by tools.rust
go = by tools.go
gcc g++ cc c++ clang clang++ tcc icc icpc gfortran nvcc emcc em++ zig-cc = by tools.compiler
arm-none-eabi-gcc = by tools.compiler
ld lld gold as nasm yasm = write -o; ?write @a.out unless -o
dlv gopls godoc gotests mockgen stringer wire sqlc ent swag = ?write cwd; write -o -destination
gotestsum ginkgo = by tools.test_runner
zig = sub; ?unknown cwd
zig>fmt = write all; unless --check
zig>version zig>env zig>targets zig>zen = reads
javac kotlinc scalac groovyc = ?write -d|cwd; takes -cp -classpath -source -target --release
swiftc ghc ocamlc ocamlopt ocamlfind nim fpc gnat dmd ldc2 crystal v vlang = write -o; ?unknown cwd
odin = write -o; ?unknown cwd
make gmake bmake = by tools.make
./configure ./autogen.sh ./bootstrap ./bootstrap.sh = ?unknown cwd
ninja samu = ?unknown -C|cwd; unless -n -t --version
cmake = by tools.cmake
cmake-E = reads
ctest = by tools.test_runner
autoreconf autoconf automake aclocal autoheader libtoolize intltoolize gettextize = ?write cwd
just task mage rake jake cake grunt gulp wireit moon nx turbo lerna rush = by tools.build_with_goals
ng vue = by tools.build_with_goals
react-scripts expo eas = by tools.build_with_goals
mvn gradle ./mvnw ./gradlew mvnw gradlew mvnd ant ivy sbt ./sbt lein = by tools.build_with_goals
boot leiningen mill = by tools.build_with_goals
bazel bazelisk ./bazelw buck buck2 pants please plz cabal stack = by tools.build_with_goals
rails ./rails spring hanami = sub; ?unknown cwd
rails>routes rails>stats rails>about rails>notes rails>console rails>c rails>dbconsole = reads
rails>version rails>middleware = reads
rails>db:migrate rails>db:rollback rails>db:schema:load = write @db/schema.rb; ?write cwd
rails>db:reset rails>db:setup = write @db/schema.rb; ?write cwd
rails>generate rails>g rails>destroy rails>d = ?write cwd; ?write @app @test @spec @db @config
rails>new = ?write cwd; ?write @app @test @spec @db @config
webpack webpack-cli rollup esbuild swc tsup unbuild parcel vite next nuxt nuxi astro remix gatsby =
  ?unknown cwd; write -o --outfile --out-file --output --outdir --dist-dir --output-path
  unless --version --help
vuepress vitepress docusaurus eleventy hexo jekyll hugo zola mkdocs mdbook sphinx-build =
  ?unknown cwd; write -o --outfile --out-file --output --outdir --dist-dir --output-path
  unless --version --help
sphinx-quickstart pelican storybook = ?unknown cwd
  write -o --outfile --out-file --output --outdir --dist-dir --output-path
  unless --version --help
tsc vue-tsc tsgo = ?unknown cwd; write --outFile --outDir
  unless --noEmit --version --showConfig -v --help --listFilesOnly
terser uglifyjs csso cleancss html-minifier = write -o --output
sass node-sass lessc stylus postcss tailwindcss tailwind = write -o --output; ?write 2
babel-node swc-node = ?unknown nowhere
bundle bundler = sub; ?write cwd; takes --gemfile
bundle>update bundle>install bundle>lock bundle>add bundle>remove = ?write cwd
  ?write @Gemfile @Gemfile.lock
bundle>list bundle>show bundle>info bundle>outdated bundle>check bundle>doctor bundle>config = reads
bundle>platform bundle>env bundle>licenses bundle>audit bundle>open bundle>viz bundle>help = reads
gem = sub; ?unknown nowhere
gem>list gem>search gem>info gem>specification gem>contents gem>dependency gem>env = reads
gem>environment gem>outdated gem>which gem>help gem>push = reads
gem>build gem>fetch gem>unpack = ?write cwd
composer = sub; ?write cwd; cwd -d --working-dir
composer>require composer>remove composer>update composer>install = ?write cwd
  ?write @composer.json @composer.lock @vendor; unless --dry-run
composer>u composer>i composer>upgrade composer>req composer>bump = ?write cwd
  ?write @composer.json @composer.lock @vendor; unless --dry-run
composer>show composer>info composer>outdated composer>validate composer>search composer>why = reads
composer>depends composer>why-not composer>prohibits composer>licenses = reads
composer>check-platform-reqs composer>diagnose composer>status composer>about composer>list = reads
composer>audit composer>fund composer>suggests composer>global = reads
composer>run-script composer>run composer>exec composer>test = ?unknown cwd
mix rebar3 = sub; ?write cwd
mix>help mix>deps mix>hex.info mix>hex.outdated mix>phx.routes mix>xref mix>app.tree = reads
mix>deps.tree mix>credo mix>dialyzer = reads
mix>format = ?write all|cwd; unless --check-formatted
mix>test mix>compile mix>run = ?unknown cwd
dart flutter pub fvm = sub; ?write cwd
dart>format = ?write all|cwd; unless -o --output --set-exit-if-changed
dart>fix = ?write cwd; only --apply
dart>analyze flutter>analyze dart>info flutter>doctor flutter>devices flutter>config = reads
dart>doc flutter>logs flutter>emulators flutter>channel = reads
dart>test flutter>test = by tools.test_runner
dart>run flutter>run flutter>build dart>compile = ?unknown cwd
dotnet = sub; ?write cwd
dotnet>--info dotnet>--version dotnet>--list-sdks dotnet>list dotnet>nuget dotnet>help = reads
dotnet>search = reads
dotnet>test dotnet>build dotnet>run dotnet>watch dotnet>msbuild = ?unknown cwd
dotnet>format = ?write cwd; unless --verify-no-changes
msbuild xbuild nuget paket = ?unknown cwd
pod = sub; ?write cwd; cwd --project-directory
pod>install pod>update = ?write cwd @Podfile.lock @Pods
pod>init = ?create @Podfile
pod>outdated pod>search pod>list pod>env pod>spec = reads
xcodebuild xcrun fastlane carthage = ?unknown cwd; unless -list -version -showBuildSettings
tuist xcodegen agvtool = ?unknown cwd; unless -list -version -showBuildSettings
plutil = write -o if -o; ?write all if -convert -insert -replace -remove unless -o; style single
  takes -convert -insert -replace -remove
defaults = sub; ?write nowhere
defaults>read defaults>domains defaults>find = reads
conan vcpkg luarocks nimble opam cpan cpanm cpanminus shards elm spago pulp dub = sub; ?write cwd
fpm alr haxelib = sub; ?write cwd
opam>list opam>show opam>search opam>env opam>config conan>list conan>search luarocks>list = reads
luarocks>show luarocks>search = reads
pytest py.test nosetests unittest behave robot trial green ward stestr nose2 = by tools.test_runner
vitest jest mocha ava tap jasmine karma cypress playwright wdio testcafe = by tools.test_runner
nightwatch = by tools.test_runner
tape uvu qunit web-test-runner wtr = by tools.test_runner
rspec minitest cucumber phpunit pest paratest codecept busted bats shellspec = by tools.test_runner
shunit2 prove = by tools.test_runner
coverage = sub; ?create nowhere
coverage>run = ?create @.coverage; style first; runs 1-
coverage>html coverage>xml coverage>json coverage>lcov = ?write -o -d|cwd
coverage>report coverage>debug coverage>help = reads
coverage>erase coverage>combine = ?delete @.coverage
c8 nyc codecov coveralls lcov genhtml gcov gcovr = ?write cwd; write -o --output
nodejs-install = reads
alembic flyway liquibase drizzle-kit sequelize knex typeorm migrate goose dbmate sqlx =
  ?write cwd; unless --version --help validate status current history heads
diesel atlas mikro-orm = ?write cwd; unless --version --help validate status current history heads
prisma = sub; ?write cwd
prisma>validate prisma>version = reads
artisan symfony console drush wp craft = ?unknown cwd
husky simple-git-hooks = ?write cwd
terraform tofu terragrunt = sub; ?write cwd; style single; cwd -chdir; takes -var -var-file
terraform>plan terraform>validate terraform>show terraform>output terraform>version = write -out
terraform>providers terraform>graph terraform>console terraform>login terraform>logout = write -out
terraform>get terraform>workspace terraform>test tofu>plan tofu>validate tofu>show = write -out
tofu>output tofu>version = write -out
terraform>state = sub; ?write @terraform.tfstate
terraform>state>list terraform>state>show terraform>state>pull = reads
terraform>fmt tofu>fmt terragrunt>hclfmt = ?write all|cwd; unless -check -diff -write=false
  style single
terraform>init tofu>init = ?create @.terraform; ?write @.terraform.lock.hcl if -upgrade
terraform>apply terraform>destroy terraform>import = ?write -state|@terraform.tfstate; ?write cwd
terraform>taint terraform>untaint terraform>refresh = ?write -state|@terraform.tfstate; ?write cwd
tofu>apply tofu>destroy tofu>import = ?write -state|@terraform.tfstate; ?write cwd
packer pulumi cdk cdktf sam skaffold tilt garden earthly dagger act nomad sls = sub; ?unknown cwd
serverless wrangler crossplane = sub; ?unknown cwd
packer>validate packer>inspect packer>version pulumi>preview pulumi>whoami pulumi>stack = reads
pulumi>logs cdk>list cdk>ls cdk>diff cdk>doctor sam>validate wrangler>whoami wrangler>tail = reads
skaffold>diagnose = reads
packer>fmt = ?write all; unless -check
terraform-docs tfupdate = ?write all|cwd
protoc grpc_tools.protoc = by tools.protoc
thrift flatc capnp openapi-generator openapi-generator-cli = write -o --output --out; ?write cwd
swagger-codegen graphql-codegen quicktype datamodel-codegen = write -o --output --out; ?write cwd
asn1c = write -o --output --out; ?write cwd
flex lex bison yacc re2c ragel antlr4 = ?write -o|cwd; write -d
m4 envsubst gettext = reads
xgettext msgmerge msgfmt msginit = write -o --output --output-file; write first if -U --update
msgcat = write -o --output --output-file; write first if -U --update
pandoc = write -o --output
asciidoctor asciidoc latex pdflatex xelatex lualatex latexmk tectonic bibtex biber makeindex =
  ?write -o --out-file -outdir|cwd; unless --version; takes -interaction -output-directory
dvips ps2pdf context typst groff troff = ?write -o --out-file -outdir|cwd; unless --version
  takes -interaction -output-directory
groff-stdout = reads
dot neato fdp sfdp circo twopi mmdc plantuml d2 mermaid ditaa = write -o --output; ?write cwd if -O
drawio = write -o --output; ?write cwd if -O
doxygen javadoc jsdoc typedoc yard rdoc pydoc-markdown pdoc = ?write -o -d --output --out|cwd
sphinx-apidoc = ?write -o -d --output --out|cwd
wkhtmltopdf wkhtmltoimage = write last
gs ghostscript = ?write -sOutputFile -o; style single
qpdf pdftk pdfunite pdfseparate mutool ocrmypdf img2pdf = ?write last
  write -o --output; takes --pages
pdftotext pdftoppm pdftohtml pdfimages = ?write 2
pdfinfo pdffonts pdfgrep pdftotext-stdout = reads
libreoffice soffice unoconv = ?write --outdir|cwd; only --convert-to --outdir; takes --convert-to
convert magick mogrify-x composite montage ffmpeg avconv sox gm rsvg-convert = by tools.converter
inkscape = ?write -o --export-filename --export-file --export-png --export-pdf --export-svg -e -A -l
  ?write all if -E --vacuum-defs; takes -w -h -d -a -i --export-dpi --export-width --export-id
  takes --export-type --export-area --actions
cwebp dwebp avifenc heif-convert lame flac opusenc oggenc = by tools.converter
mogrify optipng jpegoptim pngquant oxipng gifsicle advpng pngcrush zopflipng jpegtran =
  ?write paths|cwd; takes -resize -quality -format -rotate -crop -level
exiftool exiv2 = by tools.exif
sqlite3 sqlite duckdb = by tools.sqlite
openssl = by tools.openssl
gpg gpg2 = by tools.gpg
gpgconf gpg-agent gpg-connect-agent = reads
age rage = write -o --output
age-keygen = write -o --output
sops = write --output; ?write all if -i --in-place -e --encrypt -d --decrypt; ?write paths
git-crypt transcrypt = ?write cwd
ssh-keygen = ?write -f|nowhere unless -R; unless -l -y -F -B -E --help; takes -t -b -C -N -P -R
  ?write -f|@~/.ssh/known_hosts if -R
keytool = ?write -keystore -file|nowhere; style single; unless -list -printcert
htpasswd = write first; unless -n
pass gopass = sub; ?write nowhere
mkcert certbot step cfssl = ?write cwd; write -cert-file -key-file
"""
