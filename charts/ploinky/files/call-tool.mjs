// Calls one tool at an MCP endpoint until it gives the expected text: URL TOOL TEXT SECONDS.
const [url, tool, expected, seconds] = process.argv.slice(-4);
const deadline = Date.now() + Number(seconds) * 1000;
const headers = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2025-11-25',
};

async function post(message, session) {
  const response = await fetch(url, {
    method: 'POST',
    headers: session ? { ...headers, 'mcp-session-id': session } : headers,
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    signal: AbortSignal.timeout(10_000),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`HTTP ${response.status} ${text.slice(0, 300)}`);
  const streamed = text.match(/^data: ?(\{.*"id".*)$/m);
  return { response, answer: text === '' ? undefined : JSON.parse(streamed ? streamed[1] : text) };
}

async function callOnce() {
  const clientInfo = { name: 'helm-test', version: '1' };
  const params = { protocolVersion: headers['mcp-protocol-version'], capabilities: {}, clientInfo };
  const { response } = await post({ id: 1, method: 'initialize', params });
  const session = response.headers.get('mcp-session-id') ?? undefined;
  await post({ method: 'notifications/initialized' }, session);
  const call = { id: 2, method: 'tools/call', params: { name: tool, arguments: {} } };
  const { answer } = await post(call, session);
  const text = answer?.result?.content?.[0]?.text?.trim();
  if (text !== expected) throw new Error(`unexpected answer ${JSON.stringify(answer).slice(0, 300)}`);
  return text;
}

const say = (line) => process.stdout.write(`${line}\n`);
let told;
for (;;) {
  try {
    say(`${url}: ${tool} answered "${await callOnce()}"`);
    break;
  } catch (error) {
    const why = [error.message, error.cause?.message].filter(Boolean).join(': ');
    if (Date.now() > deadline) {
      say(`${url}: no right answer in ${seconds} s; last: ${why}`);
      process.exit(1);
    }
    if (why !== told) say(`not yet: ${why}`);
    told = why;
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}
