import { formatSpan } from './age.ts';
import { type AgentSummary, headlineOf } from './agent-summary.ts';
import { harmless, type Style, type Terminal } from './terminal.ts';

export interface AgentLine {
  readonly name: string;
  readonly summary: AgentSummary;
  /** Tools that it offers, when it is Ready. */
  readonly toolCount: number | undefined;
}

export interface AgentProgress {
  /** Shows the agents as they are at a time (monotonic milliseconds). */
  update(lines: readonly AgentLine[], at: number): void;
  /** Leaves the last state on the screen. */
  end(): void;
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const marks: Readonly<Record<AgentSummary['stage'], [string, Style]>> = {
  Ready: ['✓', 'green'],
  Failed: ['✗', 'red'],
  Stopped: ['-', 'dim'],
  Working: ['…', 'yellow'],
};

/** One line an agent: redrawn in place on a terminal, else a new line whenever an agent's state changes. */
export function showAgentProgress(terminal: Terminal, startedAt: number): AgentProgress {
  const since = new Map<string, { reason: string; at: number }>();
  let drawn = 0;
  const noteChange = (line: AgentLine, at: number): boolean => {
    const changed = since.get(line.name)?.reason !== line.summary.reason;
    if (changed) since.set(line.name, { reason: line.summary.reason, at });
    return changed;
  };
  return {
    update(lines, at) {
      const width = Math.max(0, ...lines.map(({ name }) => name.length));
      const changed = lines.filter((line) => noteChange(line, at));
      const format = (line: AgentLine) => {
        const elapsed = (since.get(line.name)?.at ?? at) - startedAt;
        return formatLine(line, { width, elapsed, at, terminal });
      };
      if (!terminal.interactive) {
        // That an agent was just applied has been said.
        const news = changed.filter(({ summary }) => summary.reason !== 'Pending');
        for (const line of news) terminal.note(format(line));
      } else {
        terminal.writeNote(`${drawn > 0 ? `\u001b[${drawn}A\u001b[J` : ''}`);
        for (const line of lines) terminal.note(format(line));
        drawn = lines.length;
      }
    },
    end() {
      drawn = 0;
    },
  };
}

function formatLine(
  { name, summary, toolCount }: AgentLine,
  { width, elapsed, at, terminal }: { width: number; elapsed: number; at: number; terminal: Terminal },
): string {
  const [mark, style] = marks[summary.stage];
  const spinner = frames[Math.floor(at / 100) % frames.length] ?? '';
  const sign = summary.stage === 'Working' && terminal.interactive ? spinner : mark;
  const tools = toolCount === undefined ? '' : ` · ${toolCount} tool${toolCount === 1 ? '' : 's'}`;
  const seconds = summary.stage === 'Ready' ? ` · after ${formatElapsed(elapsed)}` : '';
  const message = summary.stage === 'Ready' ? '' : headlineOf(harmless(summary.message));
  const plain = `${name.padEnd(width)}  ${summary.reason}${tools}${seconds}${message ? `: ${message}` : ''}`;
  const room = Math.max(20, terminal.columns - 3);
  const cut = terminal.interactive && plain.length > room ? `${plain.slice(0, room - 1)}…` : plain;
  return `${terminal.styleNote(style, sign)} ${cut}`;
}

function formatElapsed(ms: number): string {
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : formatSpan(ms);
}
