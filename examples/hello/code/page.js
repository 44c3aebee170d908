// The page is served by the router at /hello/, and calls the agent's tool through the router's own client.
import { createAgentClient } from '/MCPBrowserClient.js';

const client = createAgentClient('/mcps/hello/mcp');
const answer = document.querySelector('#answer');

async function greet(name) {
  const { content } = await client.callTool('greet', { name });
  return content[0].text;
}

document.querySelector('#form').addEventListener('submit', async (event) => {
  event.preventDefault();
  answer.className = '';
  answer.textContent = '…';
  try {
    answer.textContent = await greet(new FormData(event.target).get('name'));
  } catch (error) {
    answer.className = 'failed';
    answer.textContent = error.message;
  }
});

await client.connect();
const { contents } = await client.readResource('hello://motd');
document.querySelector('#motd').textContent = contents[0].text;
