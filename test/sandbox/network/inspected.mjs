const [, , port] = process.argv;
for (const path of ["/v1/fetch", "/v2/fetch"]) {
  const answer = await fetch(`https://allowed.example:${port}${path}`);
  console.log(JSON.stringify([path, answer.status, (await answer.text()).slice(0, 30)]));
}
