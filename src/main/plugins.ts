import { Console } from 'node:console';
import { writeSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import type { PluginsInvocation } from '#agent-server/process/arguments.ts';
import { importPlugins } from '#agent-server/runner/import-plugins.ts';
import { callPlugin, readCall } from '#agent-server/runner/plugin-call.ts';
import { createPluginWorkspace } from '#agent-server/runner/workspace.ts';
import { messageOf } from '#kit/errors.ts';

/** Exit code of a process that SIGTERM ends, as shells tell it. */
const terminated = 143;

/**
 * One call of a tool with `runner: plugins`, then the end of the process. The result goes to standard output as JSON,
 * everything that plugins print to standard error. Modules are imported before the call is read, so that a prewarmed
 * process has done it; instances are made after it, so that none has read what another call has changed since.
 */
export async function runPluginCall({ folders, command, fields }: PluginsInvocation): Promise<void> {
  const print = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr) as typeof process.stdout.write;
  globalThis.console = new Console(process.stderr);
  const end = (code: number, output: string) => print(output, () => process.exit(code));
  try {
    const modules = await importPlugins(folders);
    const call = readCall(await buffer(process.stdin));
    const workspace = createPluginWorkspace({
      modules,
      folder: process.env['WORKSPACE_PATH'] ?? process.cwd(),
      call,
      report: tell,
    });
    // Plugins written for SOPLang find their workspace under this name.
    Object.assign(globalThis, { $$: workspace });
    process.once('SIGTERM', () => void workspace.shutDown().finally(() => process.exit(terminated)));
    end(0, JSON.stringify((await callPlugin({ workspace, modules, call, command, fields })) ?? null));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
    end(1, JSON.stringify({ ok: false, error: messageOf(error) }));
  }
}

/** A line on descriptor 3. Lost where that is closed or full: nobody waits for news of a call. */
function tell(line: object): void {
  try {
    writeSync(3, `${JSON.stringify(line)}\n`);
  } catch {
    // The call goes on without.
  }
}
