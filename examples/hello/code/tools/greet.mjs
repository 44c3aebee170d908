// One call: the envelope comes on standard input, the answer goes to standard output.
const envelope = JSON.parse(await new Response(process.stdin).text());
process.stdout.write(`Hello, ${envelope.input.name}!`);
