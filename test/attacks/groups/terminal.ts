import { spawn } from 'node:child_process';
import type { AttackGroup, Finding, Substrate } from '../case.ts';
import { probeCommand, python, readFindings } from '../probe.ts';

/** Becomes the leader of a session with a terminal of its own, runs its arguments in it and tells what was typed there. */
const inTerminal = `
import fcntl, os, pty, select, sys, termios, tty
master, slave = pty.openpty()
tty.setraw(slave)
pid = os.fork()
if pid == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 1)
    os.dup2(slave, 0)
    os.execvp(sys.argv[1], sys.argv[1:])
os.waitpid(pid, 0)
ready, _, _ = select.select([slave], [], [], 0.3)
print("TYPED:" + (os.read(slave, 100).decode() if ready else ""))
`;

export const terminal: AttackGroup = {
  id: 'S15',
  title: 'The terminal of who started it',
  async run(substrate) {
    const { output } = await runInTerminal(substrate);
    const findings = new Map(readFindings(output));
    const told = findings.get('TIOCSTI');
    if (told === undefined) throw new Error(`the terminal in ${substrate.name} said nothing: ${output}`);
    const isTyped = /TYPED:id/.test(output);
    const finding: Finding =
      told.verdict === 'works' && !isTyped
        ? { verdict: 'stopped', detail: 'into a terminal of its own' }
        : told;
    return findings.set('TIOCSTI', finding);
  },
};

async function runInTerminal(substrate: Substrate): Promise<{ output: string }> {
  const line = await substrate.line(probeCommand(substrate, 'terminal', {}));
  const helper = spawn(python, ['-c', inTerminal, ...line.command], {
    stdio: ['ignore', 'pipe', 'pipe', ...line.files],
    env: { ...line.env },
    timeout: 20_000,
    killSignal: 'SIGKILL',
  });
  let output = '';
  for (const stream of [helper.stdout, helper.stderr]) {
    stream?.on('data', (chunk) => {
      output += String(chunk);
    });
  }
  await new Promise((resolve) => helper.once('close', resolve));
  line.close();
  return { output };
}
