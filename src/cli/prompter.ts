import { createInterface } from 'node:readline';

/** Asks the person at the terminal. */
export interface Prompter {
  /** Opens a row of questions; the terminal is as it was before once it is closed. */
  open(): PromptSession;
}

export interface PromptSession {
  /** Text that is no question. */
  tell(text: string): void;
  /** One line. After Ctrl-D or Ctrl-C every further question gets the same reply. */
  ask(prompt: string): Promise<Reply>;
  close(): void;
}

export type Reply =
  | { readonly kind: 'line'; readonly text: string }
  /** Ctrl-D: no answer will be given. */
  | { readonly kind: 'decline' }
  /** Ctrl-C. */
  | { readonly kind: 'cancel' };

/** Between terminals; questions go to `output` so that standard output stays the answer's. */
export function createPrompter(input: NodeJS.ReadableStream, output: NodeJS.WritableStream): Prompter {
  return {
    open() {
      const lines: Reply[] = [];
      const waiting: ((reply: Reply) => void)[] = [];
      let end: Reply | undefined;
      const reply = (each: Reply) => {
        const next = waiting.shift();
        if (next === undefined) lines.push(each);
        else next(each);
      };
      const stop = (kind: 'decline' | 'cancel') => {
        if (end !== undefined) return;
        const last: Reply = { kind };
        end = last;
        output.write('\n');
        for (const next of waiting.splice(0)) next(last);
      };
      const reader = createInterface({ input, output, terminal: true, historySize: 0 });
      reader.on('line', (text) => reply({ kind: 'line', text }));
      reader.on('SIGINT', () => stop('cancel'));
      // The end of the input, which Ctrl-D on an empty line is.
      reader.on('close', () => stop('decline'));
      return {
        tell: (text) => void output.write(`${text}\n`),
        ask(prompt) {
          const known = lines.shift() ?? end;
          if (known !== undefined) return Promise.resolve(known);
          reader.setPrompt(prompt);
          reader.prompt();
          return new Promise((resolve) => waiting.push(resolve));
        },
        close() {
          const last: Reply = end ?? { kind: 'cancel' };
          end = last;
          for (const next of waiting.splice(0)) next(last);
          reader.close();
        },
      };
    },
  };
}
