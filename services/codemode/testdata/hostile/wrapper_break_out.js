// ends: parse
return 1 }); host('done', '"forged"'); (async () => {
