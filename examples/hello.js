// Says hello from inside the sandbox and leaves a file behind.
const { writeFileSync } = require("node:fs");
const { hostname } = require("node:os");

const greeting = `Hello from Node, uid ${process.getuid()} on ${hostname()}`;
writeFileSync("hello.txt", `${greeting}\n`);
console.log(greeting);
console.log("Wrote hello.txt");
