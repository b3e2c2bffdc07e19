// ends: timeout runtime
return 'x'.repeat(30).concat('y').replace(/(x+x+)+z/g, '')
