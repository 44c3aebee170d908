import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  type Cluster,
  chooseProvider,
  defaultName,
  type Provider,
  startCluster,
} from '#test/cluster/provider.ts';
import { installProduct } from './cluster/install.ts';
import { archivesProblem, loadArchives } from './cluster/load.ts';

// The cluster for tests, by hand: `make cluster` and `make cluster-down` are `up` and `down` of this.

const usage = `bin/dev cluster COMMAND [--name NAME]
  up                  bring the cluster up, or find it up
  down                take it down; nothing of it is left
  status              say whether it is up, and its nodes
  kubectl ARGS…       kubectl of a cluster administrator
  helm ARGS…          Helm, the same way
  load ARCHIVE…       make an image archive's images known to the nodes
  install HELM-ARGS…  build the images, load them and install the chart with them, or upgrade
  volumes COUNT       add that many volumes to claim
  nodes COUNT         add that many simulated nodes
  enter -- COMMAND…   run a command in the cluster's network, with KUBECONFIG set and the checkout's node on PATH
The name comes before the command's own arguments; without one it is "${defaultName}".`;

const print = (line: string) => console.log(line);

async function provider(): Promise<Provider> {
  const chosen = await chooseProvider();
  return 'missing' in chosen ? fail(`There can be no cluster here. ${chosen.missing}`) : chosen;
}

/** A cluster that is up; the commands that work on one do not bring it up by surprise. */
async function upCluster(name: string): Promise<Cluster> {
  if (!(await (await provider()).isUp(name)))
    fail(`The cluster ${name} is not up. Bring it up: bin/dev cluster up${optionOf(name)}`);
  return await started(name);
}

async function started(name: string): Promise<Cluster> {
  const cluster = await startCluster({ name, keep: true, progress: (line) => console.error(line) });
  return 'missing' in cluster ? fail(`There can be no cluster here. ${cluster.missing}`) : cluster;
}

const optionOf = (name: string) => (name === defaultName ? '' : ` --name ${name}`);

async function up(name: string): Promise<void> {
  const cluster = await started(name);
  const option = optionOf(name);
  const self = 'bin/dev cluster';
  print(`The cluster ${name} (${cluster.provider}) is up. Next:
  ${self} kubectl${option} get nodes
  ${self} install${option}            # build and load the images, install the chart with them
  ${self} enter${option} -- bash      # a shell with kubectl, helm and ploinky on PATH
  ${name === defaultName ? 'make cluster-down' : `${self} down${option}`}`);
}

async function down(name: string): Promise<void> {
  await (await provider()).down(name);
  print(`The cluster ${name} is down; nothing of it is left.`);
}

async function status(name: string): Promise<void> {
  const chosen = await provider();
  if (!(await chosen.isUp(name))) return print(`The cluster ${name} (${chosen.name}) is not up.`);
  const cluster = await started(name);
  print(`The cluster ${name} (${cluster.provider}) is up. KUBECONFIG=${cluster.kubeconfig}`);
  print((await cluster.kubectl(['get', 'nodes', '-owide'])).trimEnd());
}

/** The checkout's Node comes before the machine's, which may be too old to run anything here. */
function enteredEnvironment({ env }: Cluster): NodeJS.ProcessEnv {
  const checkout = join(import.meta.dirname, '..');
  const own = [join(checkout, 'node_modules/.bin'), join(checkout, 'bin')];
  return { ...process.env, ...env, PATH: [...own, env['PATH'] ?? process.env['PATH']].join(':') };
}

/** Runs in the foreground, with this terminal; exits as the command does. */
async function enter(name: string, argv: readonly string[]): Promise<void> {
  if (argv.length === 0) fail(`Name a command: bin/dev cluster enter -- COMMAND`);
  const cluster = await upCluster(name);
  const [file = '', ...args] = [...cluster.enter, ...argv];
  const child = spawn(file, args, { stdio: 'inherit', env: enteredEnvironment(cluster) });
  // The terminal sends its signals to the child too, which decides what they mean.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  process.exitCode = await new Promise<number>((resolve) => {
    child.on('error', (error) => fail(`${file}: ${error.message}`));
    child.on('exit', (code) => resolve(code ?? 1));
  });
}

async function load(name: string, archives: readonly string[]): Promise<void> {
  const problem = archivesProblem(archives);
  if (problem !== undefined) fail(problem);
  await loadArchives(await upCluster(name), archives, print);
}

async function install(name: string, extra: readonly string[]): Promise<void> {
  const problem = await installProduct(await upCluster(name), extra, print);
  if (problem !== undefined) fail(problem);
  const self = 'bin/dev cluster';
  const option = optionOf(name);
  print(`Ploinky is installed. Next:
  ${self} kubectl${option} apply -n ploinky-system -f examples/
  ${self} kubectl${option} get agents -n ploinky-system -o wide
  ${self} enter${option} -- ploinky --cluster -n ploinky-system call greet -p name=Ana`);
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

/** `--name NAME` right after the command, then what is the command's own. */
function split(argv: readonly string[]): { name: string; rest: string[] } {
  const isNamed = argv[0] === '--name';
  const { values } = parseArgs({
    args: isNamed ? argv.slice(0, 2) : [],
    options: { name: { type: 'string' } },
  });
  const rest = argv.slice(isNamed ? 2 : 0);
  return { name: values.name ?? defaultName, rest: rest[0] === '--' ? rest.slice(1) : rest };
}

function count(text: string | undefined): number {
  const value = Number(text);
  return Number.isInteger(value) && value > 0 ? value : fail('Say how many: a whole number from 1.');
}

const [command = '', ...argv] = process.argv.slice(2);
const { name, rest } = split(argv);
const commands: Record<string, () => Promise<void>> = {
  up: () => up(name),
  down: () => down(name),
  status: () => status(name),
  kubectl: () => enter(name, ['kubectl', ...rest]),
  helm: () => enter(name, ['helm', ...rest]),
  enter: () => enter(name, rest),
  load: () => load(name, rest),
  install: () => install(name, rest),
  volumes: async () => print(`class ${await (await upCluster(name)).addVolumes(count(rest[0]))}`),
  nodes: async () => print((await (await upCluster(name)).addFakeNodes(count(rest[0]))).join('\n')),
};
const chosen = commands[command];
if (chosen === undefined) fail(usage);
await chosen();
