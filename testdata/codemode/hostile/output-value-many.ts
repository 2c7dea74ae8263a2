// expect: output-limit timeout
return Array.from({ length: 3e4 }, (_, i) => ({ index: i, text: "some text" }));
