import { writeFile } from 'node:fs/promises';
import { runFiles } from './run-files.ts';

// Runs test files in the network it was started in. Arguments: the checkout, the file for the outcome, the test files.

const [root = '', target = '', ...files] = process.argv.slice(2);
const outcome = await runFiles(root, files, 1);
await writeFile(target, JSON.stringify(outcome));
process.exit(0);
