/* SPDX-License-Identifier: Apache-2.0 */
/* cmake/curl.cmake tests with this whether libcurl links statically. */
#include <curl/curl.h>

int main(void)
{
    CURL *easy = curl_easy_init();
    return curl_easy_perform(easy);
}
