// expect: output-limit timeout
for (;;) console.log("line");
